#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/units.hpp"

namespace ddl {

struct Device;

/// Columns of a text on a terminal: UTF-8 code points, which is correct for the characters that we print.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// `1 GPU`, `1,024 GPUs`.
[[nodiscard]] std::string count_text(std::int64_t count, std::string_view thing);
/// `GPU`, or `processor`.
[[nodiscard]] std::string_view device_noun(const Device& device);
/// `1,281,167`; four digits and a power of ten if it exceeds 64 bits.
[[nodiscard]] std::string whole_text(double count);
/// `12 %`, for a share of one.
[[nodiscard]] std::string share_text(double share);
/// An amount of money: without cents if it is in the hundreds.
[[nodiscard]] std::string amount(double value);

/// The unit of a table's times, chosen for the longest.
struct TimeUnit {
  std::string name;
  double factor = 1;
};
[[nodiscard]] TimeUnit time_unit(Seconds longest);
/// A time in the unit of its table: `-` for none, `0.0` for almost none.
[[nodiscard]] std::string figure(double value);
/// The same with three digits.
[[nodiscard]] std::string fine_figure(double value);

}  // namespace ddl
