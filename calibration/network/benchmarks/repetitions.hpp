#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"

namespace ddl {

/// Maximum number of times that are stored for each size of a file. Without a limit, a file of a
/// training run would contain hours of repetitions.
inline constexpr std::size_t most_repetitions = 100;

/// Returns the times in ascending order. Of more than `most_repetitions` times, only evenly spaced
/// ones are returned, which preserves median and spread.
[[nodiscard]] std::vector<double> few_repetitions(std::vector<double> times);

/// Removes the rows with times that `few_repetitions` drops. Each size is handled separately, and
/// so are in-place rows. The remaining rows stay in the order of the file.
void keep_few_repetitions(ExchangeSeries& series);

/// The largest difference between two runs of one benchmark, as a ratio of times. It is the median, over five neighboring
/// sizes that both runs have, of the longer time divided by the shorter one. A link with half the rate changes this ratio,
/// even if small messages take the same time. A single disturbed size does not. Empty without a common size.
[[nodiscard]] std::optional<double> difference(const ExchangeSeries& a, const ExchangeSeries& b);

}  // namespace ddl
