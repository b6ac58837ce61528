#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddl {

/// The meaning of a comma between digits: `1,281,167` is one figure, or the three columns of a CSV line.
enum class CommaIn : std::uint8_t { figures, columns };

/// Returns the line with every figure replaced by one mark, so that lines that differ only in figures become equal.
///
/// A figure is a number with its sign, exponent and the prefix of its unit: `12.5 ms` and `3 s`, `4 GiB` and `0 B`,
/// `-1e-05`. `2 h 05 min` is a time like `53.0 s`. Digits inside a word are not a figure: `conv1`, `fp32`, `ZeRO-3`,
/// `job.yaml:5:24`, `1f1b`. `ms`, `us` and `ns` alone, as in the head of a column, become `s`.
///
/// A sequence of spaces, box-drawing characters and bars becomes one space. Spaces at the start of a line are an indentation
/// and stay, except before a figure or `[..]`, which may be aligned to the right. Spaces at the end of a line are dropped.
[[nodiscard]] std::string without_figures(std::string_view line, CommaIn commas);

}  // namespace ddl
