#include "core/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace ddl {

double mean(std::span<const double> values) {
  if (values.empty()) return 0.0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::span<const double> values) {
  if (values.empty()) return 0.0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : std::midpoint(sorted[middle - 1], sorted[middle]);
}

double quantile_of_sorted(std::span<const double> values, double share) {
  if (values.empty()) return 0;
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

double median_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> distances(values.begin(), values.end());
  for (double& distance : distances) distance = std::abs(distance - middle);
  return median(distances);
}

std::optional<Interval> median_interval(std::span<const double> values, double confidence) {
  const std::size_t count = values.size();
  if (count == 0) return std::nullopt;
  // The probability that the median is below the k-th smallest value, or above the k-th largest value, equals the
  // probability of fewer than k heads in n coin tosses. This probability is computed in logarithms, because 2^-n underflows.
  const double allowed = (1.0 - confidence) / 2.0;
  const auto n = static_cast<double>(count);
  double chance = -n * std::log(2.0);  // the logarithm of the probability of k heads
  double below = 0;
  std::size_t rank = 0;
  for (std::size_t k = 0; 2 * (k + 1) <= count; ++k) {
    below += std::exp(chance);
    if (below > allowed) break;
    rank = k + 1;
    chance += std::log((n - static_cast<double>(k)) / static_cast<double>(rank));
  }
  if (rank == 0) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return Interval{sorted[rank - 1], sorted[count - rank]};
}

KendallCounts& KendallCounts::operator+=(const KendallCounts& other) {
  concordant += other.concordant;
  discordant += other.discordant;
  ties_first += other.ties_first;
  ties_second += other.ties_second;
  return *this;
}

KendallCounts kendall_counts(std::span<const double> first, std::span<const double> second) {
  assert(first.size() == second.size());
  KendallCounts counts;
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool tied_first = first[i] == first[j];
      const bool tied_second = second[i] == second[j];
      if (tied_first && tied_second) continue;
      if (tied_first) {
        ++counts.ties_first;
      } else if (tied_second) {
        ++counts.ties_second;
      } else if ((first[i] < first[j]) == (second[i] < second[j])) {
        ++counts.concordant;
      } else {
        ++counts.discordant;
      }
    }
  }
  return counts;
}

double normal_share(double deviations) { return 0.5 * std::erfc(-deviations / std::sqrt(2.0)); }

double normal_quantile(double share) {
  // Bisection. Each step halves the interval of the quantile. The interval starts at ±10 standard deviations, because
  // farther out a double cannot represent how much the probability differs from 0 or 1.
  double low = -10, high = 10;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (normal_share(middle) < share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double kendall_tau_b(const KendallCounts& counts) {
  const auto untied = static_cast<double>(counts.concordant + counts.discordant);
  const double first = untied + static_cast<double>(counts.ties_first);
  const double second = untied + static_cast<double>(counts.ties_second);
  if (first == 0.0 || second == 0.0) return std::nan("");
  return static_cast<double>(counts.concordant - counts.discordant) / std::sqrt(first * second);
}

}  // namespace ddl
