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

double kendall_tau_b(const KendallCounts& counts) {
  const auto untied = static_cast<double>(counts.concordant + counts.discordant);
  const double first = untied + static_cast<double>(counts.ties_first);
  const double second = untied + static_cast<double>(counts.ties_second);
  if (first == 0.0 || second == 0.0) return std::nan("");
  return static_cast<double>(counts.concordant - counts.discordant) / std::sqrt(first * second);
}

}  // namespace ddl
