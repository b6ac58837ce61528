#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ddl {

/// Arithmetic mean; 0 for an empty span.
[[nodiscard]] double mean(std::span<const double> values);
/// Middle value, or the mean of the two middle values; 0 for an empty span.
[[nodiscard]] double median(std::span<const double> values);

/// The `share` quantile, with `share` in [0, 1] and linear interpolation between two values; 0 for an empty span. The values
/// must be sorted.
[[nodiscard]] double quantile_of_sorted(std::span<const double> values, double share);

/// Median absolute deviation (MAD): the median distance of the values from their median; 0 for an empty span.
[[nodiscard]] double median_deviation(std::span<const double> values);
/// Distribution-free bounds that contain the median of the distribution with at least the probability `confidence` in (0,
/// 1). The bounds are two order statistics. Their ranks follow from the binomial distribution of the number of samples below
/// the median (David & Nagaraja, "Order Statistics", 3rd ed., section 7.1). Empty if there are too few values: a confidence
/// of 0.95 needs six.
struct Interval {
  double low = 0, high = 0;
};
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> values, double confidence = 0.95);

/// The quantile function and the cumulative distribution function of the standard normal distribution.
[[nodiscard]] double normal_quantile(double share);
[[nodiscard]] double normal_share(double deviations);

/// Pair counts for Kendall's τ-b of two equally long series. Counts of several groups can be added before τ-b is computed.
struct KendallCounts {
  std::int64_t concordant = 0;
  std::int64_t discordant = 0;
  std::int64_t ties_first = 0;   ///< pairs tied in the first series only
  std::int64_t ties_second = 0;  ///< pairs tied in the second series only
  KendallCounts& operator+=(const KendallCounts& other);
};
[[nodiscard]] KendallCounts kendall_counts(std::span<const double> first, std::span<const double> second);
/// τ-b = (C − D) / sqrt((C + D + T1)(C + D + T2)) (Kendall, "The treatment of ties in ranking problems", Biometrika 1945);
/// NaN when a factor is zero.
[[nodiscard]] double kendall_tau_b(const KendallCounts& counts);

}  // namespace ddl
