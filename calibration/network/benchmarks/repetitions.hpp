#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"

namespace ddl {

/// Maximum number of times that are stored for each size of a file. It is limited because a training run repeats its
/// exchanges for hours.
inline constexpr std::size_t most_repetitions = 100;

/// Returns the times in ascending order. If there are more than `most_repetitions`, it keeps evenly spaced times, which
/// preserves median and spread.
[[nodiscard]] std::vector<double> few_repetitions(std::vector<double> times);

/// Keeps the rows whose times `few_repetitions` keeps, in the order of the file. Each size is handled separately. In-place
/// rows are also handled separately.
void keep_few_repetitions(ExchangeSeries& series);

/// The largest difference between two runs of one benchmark: the median ratio of the longer to the shorter time over five
/// neighbouring sizes that both runs have. A link with half the rate changes this ratio, even if small messages take the
/// same time. A single disturbed size does not change this ratio. Empty without a common size.
[[nodiscard]] std::optional<double> difference(const ExchangeSeries& a, const ExchangeSeries& b);

}  // namespace ddl
