#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"

namespace ddl {

/// Maximum number of times that are stored per size of a file: a training run repeats its exchanges for hours.
inline constexpr std::size_t most_repetitions = 100;

/// In ascending order; if there are more than `most_repetitions`, evenly spaced ones of the sorted times, which preserves
/// median and spread.
[[nodiscard]] std::vector<double> few_repetitions(std::vector<double> times);

/// Keeps the rows whose times `few_repetitions` would keep, in the order of the file. It takes each size by itself, and
/// in-place rows apart from others.
void keep_few_repetitions(ExchangeSeries& series);

/// The difference between two runs of one benchmark where it is largest: the median of the longer over the shorter time for
/// five neighbouring sizes that both have. A link with half the rate is then visible even if small messages take the same
/// time, and single disturbed sizes are not. Empty without a common size.
[[nodiscard]] std::optional<double> difference(const ExchangeSeries& a, const ExchangeSeries& b);

}  // namespace ddl
