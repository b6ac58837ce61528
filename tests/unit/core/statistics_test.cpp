#include "core/statistics.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.hpp"

using namespace ddl;

TEST_CASE("the mean is the sum over the count") {
  CHECK(mean(std::array{1.0, 2.0, 6.0}) == 3.0);
  CHECK(mean({}) == 0.0);
}

TEST_CASE("the median is the middle value, or the mean of the two middle ones") {
  CHECK(median(std::array{9.0, 1.0, 2.0}) == 2.0);
  CHECK(median(std::array{9.0, 1.0, 2.0, 4.0}) == 3.0);
  CHECK(median(std::array{7.0}) == 7.0);
  CHECK(median({}) == 0.0);
}

TEST_CASE("the median of huge values does not overflow") {
  const double huge = std::numeric_limits<double>::max();
  CHECK(median(std::array{huge, huge}) == huge);
}

TEST_CASE("equal rankings have tau 1 and opposite ones -1") {
  const std::array up{1.0, 2.0, 3.0, 4.0};
  const std::array down{8.0, 6.0, 4.0, 2.0};
  CHECK(kendall_tau_b(kendall_counts(up, up)) == 1.0);
  CHECK(kendall_tau_b(kendall_counts(up, down)) == -1.0);
}

// Pairs (i, j) of first 1 2 2 3 and second 1 3 2 2, in order of i: (1,2) concordant, (1,3) concordant, (1,4) concordant;
// (2,3) tied in the first only; (2,4) 2 < 3 but 3 > 2: discordant; (3,4) tied in the second only.
// C = 3, D = 1, T1 = 1, T2 = 1, so tau-b = 2 / sqrt(5 x 5) = 0.4.
TEST_CASE("tied pairs count in the series in which they are tied") {
  const KendallCounts counts = kendall_counts(std::array{1.0, 2.0, 2.0, 3.0}, std::array{1.0, 3.0, 2.0, 2.0});
  CHECK(counts.concordant == 3);
  CHECK(counts.discordant == 1);
  CHECK(counts.ties_first == 1);
  CHECK(counts.ties_second == 1);
  CHECK(kendall_tau_b(counts) == Approx(0.4));
}

TEST_CASE("pairs tied in both series do not count") {
  const KendallCounts counts = kendall_counts(std::array{1.0, 1.0}, std::array{5.0, 5.0});
  CHECK(counts.concordant + counts.discordant + counts.ties_first + counts.ties_second == 0);
}

TEST_CASE("tau is not a number when one series is constant or too short") {
  CHECK(std::isnan(kendall_tau_b(kendall_counts(std::array{1.0, 1.0}, std::array{1.0, 2.0}))));
  CHECK(std::isnan(kendall_tau_b(kendall_counts(std::array{1.0}, std::array{1.0}))));
  CHECK(std::isnan(kendall_tau_b({})));
}

TEST_CASE("counts of several groups add up") {
  KendallCounts pooled = kendall_counts(std::array{1.0, 2.0}, std::array{1.0, 2.0});
  pooled += kendall_counts(std::array{1.0, 2.0, 2.0}, std::array{2.0, 1.0, 1.5});
  CHECK(pooled.concordant == 1);
  CHECK(pooled.discordant == 2);
  CHECK(pooled.ties_first == 1);
  CHECK(kendall_tau_b(pooled) == Approx(-1.0 / std::sqrt(4.0 * 3.0)));
}

TEST_CASE("tau lies in [-1, 1], is symmetric, and changes sign with the order") {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int> small(0, 5);  // few values, hence many ties
  for (int round = 0; round < 200; ++round) {
    std::vector<double> first(10);
    std::vector<double> second(10);
    std::vector<double> negated(10);
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] = small(random);
      second[i] = small(random);
      negated[i] = -second[i];
    }
    const double tau = kendall_tau_b(kendall_counts(first, second));
    if (std::isnan(tau)) continue;
    CHECK(std::abs(tau) <= 1.0);
    CHECK(kendall_tau_b(kendall_counts(second, first)) == tau);
    CHECK(kendall_tau_b(kendall_counts(first, negated)) == -tau);
  }
}
