#include "core/statistics.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.hpp"

using namespace ddl;

// By tables of the normal distribution, the quantiles 0.5, 0.95 and 0.975 are 0, 1.6449 and 1.9600
// standard deviations above the mean.
TEST_CASE("the normal distribution has the quantiles of published tables") {
  CHECK(normal_quantile(0.5) == Approx(0).margin(1e-12));
  CHECK(normal_quantile(0.95) == Approx(1.6448536));
  CHECK(normal_quantile(0.975) == Approx(1.9599640));
  CHECK(normal_share(normal_quantile(0.99)) == Approx(0.99));
}

TEST_CASE("the mean is the sum over the count") {
  CHECK(mean(std::array{1.0, 2.0, 6.0}) == 3.0);
  CHECK(mean({}) == 0.0);
}

TEST_CASE("the median is the middle value, or the mean of the two middle values") {
  CHECK(median(std::array{9.0, 1.0, 2.0}) == 2.0);
  CHECK(median(std::array{9.0, 1.0, 2.0, 4.0}) == 3.0);
  CHECK(median(std::array{7.0}) == 7.0);
  CHECK(median({}) == 0.0);
}

TEST_CASE("the median of huge values does not overflow") {
  const double huge = std::numeric_limits<double>::max();
  CHECK(median(std::array{huge, huge}) == huge);
}

TEST_CASE("equal rankings have tau 1, and opposite rankings have tau -1") {
  const std::array up{1.0, 2.0, 3.0, 4.0};
  const std::array down{8.0, 6.0, 4.0, 2.0};
  CHECK(kendall_tau_b(kendall_counts(up, up)) == 1.0);
  CHECK(kendall_tau_b(kendall_counts(up, down)) == -1.0);
}

// The pairs (i, j) of first 1 2 2 3 and second 1 3 2 2, in order of i, are: (1,2) concordant, (1,3) concordant, (1,4)
// concordant; (2,3) tied only in the first; (2,4) discordant, because 2 < 3 but 3 > 2; (3,4) tied only in the second. With C
// = 3, D = 1, T1 = 1, T2 = 1, tau-b = 2 / sqrt(5 x 5) = 0.4.
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
  std::uniform_int_distribution<int> small(0, 5);  // few values, so that there are many ties
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

TEST_CASE("the deviation from the median is robust to outliers") {
  CHECK(median_deviation(std::vector<double>{}) == 0.0);
  CHECK(median_deviation(std::array{5.0}) == 0.0);
  CHECK(median_deviation(std::array{1.0, 2.0, 4.0, 8.0, 1000.0}) == 3.0);  // distances from the median 4: 3 2 0 4 996
}

TEST_CASE("the interval of a median has the ranks of the binomial distribution") {
  std::vector<double> values{3, 1, 2, 5, 4};
  CHECK_FALSE(median_interval(values).has_value());  // 1 - 2/2^5 = 0.9375
  values.push_back(6);
  REQUIRE(median_interval(values).has_value());  // 1 - 2/2^6 = 0.969: from the smallest to the largest value
  CHECK(median_interval(values)->low == 1);
  CHECK(median_interval(values)->high == 6);
  values.clear();
  for (int i = 1; i <= 20; ++i) values.push_back(i);
  // P(X <= 5) = 21700/2^20 = 0.0207 and P(X <= 6) = 0.0577, so the ranks are 6 and 15, as in tables of the sign test.
  CHECK(median_interval(values)->low == 6);
  CHECK(median_interval(values)->high == 15);
  CHECK_FALSE(median_interval(std::vector<double>{}).has_value());
}

TEST_CASE("the interval covers the median of the distribution as often as stated") {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> skewed(1.0);
  for (const std::size_t count : {6U, 13U, 40U}) {
    int held = 0;
    constexpr int rounds = 4000;
    for (int round = 0; round < rounds; ++round) {
      std::vector<double> values(count);
      for (double& value : values) value = skewed(random);
      const auto interval = median_interval(values);
      REQUIRE(interval.has_value());
      if (interval->low <= std::log(2.0) && std::log(2.0) <= interval->high) ++held;
    }
    CHECK(held >= 0.94 * rounds);  // at least 0.95, minus three standard errors of the count
  }
}
