#pragma once

#include <cstddef>
#include <vector>

namespace ddl {

/// Most times of one size that are kept of a file: a training repeats its exchanges for hours.
inline constexpr std::size_t most_repetitions = 100;

/// Ascending; of more than `most_repetitions` those that divide the sorted ones evenly, so that median and spread stay.
[[nodiscard]] std::vector<double> few_repetitions(std::vector<double> times);

}  // namespace ddl
