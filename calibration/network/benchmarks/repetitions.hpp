#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"

namespace ddl {

/// Most times of one size that are kept of a file: a training repeats its exchanges for hours.
inline constexpr std::size_t most_repetitions = 100;

/// Ascending; of more than `most_repetitions` those that divide the sorted ones evenly, so that median and spread stay.
[[nodiscard]] std::vector<double> few_repetitions(std::vector<double> times);

/// Leaves of each size, in and out of place, the rows whose times `few_repetitions` would keep, in the order of the file.
void keep_few_repetitions(ExchangeSeries& series);

/// By how much two runs of one benchmark differ where they differ most: the median of the longer over the shorter time of
/// five neighbouring sizes that both have, so that a link of half the rate shows although small messages take as long, and
/// single sizes that were disturbed do not. Nothing without a common size.
[[nodiscard]] std::optional<double> difference(const ExchangeSeries& a, const ExchangeSeries& b);

}  // namespace ddl
