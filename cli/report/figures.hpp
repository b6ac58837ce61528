#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/units.hpp"

namespace ddl {

struct Device;

/// The number of columns of a text on a terminal. It counts UTF-8 code points, which is correct for the characters of
/// reports.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// `1 GPU`, `1,024 GPUs`.
[[nodiscard]] std::string count_text(std::int64_t count, std::string_view thing);
/// `GPU`, or `processor`.
[[nodiscard]] std::string_view device_noun(const Device& device);
/// `1,281,167`; four digits and a power of ten if it exceeds 64 bits.
[[nodiscard]] std::string whole_text(double count);
/// A share of one as a percentage: `12 %`.
[[nodiscard]] std::string share_text(double share);
/// An amount of money, without cents from 100 on.
[[nodiscard]] std::string amount(double value);

/// The unit of the times in a table, chosen for the longest time.
struct TimeUnit {
  std::string name;
  double factor = 1;
};
[[nodiscard]] TimeUnit time_unit(Seconds longest);
/// A time in the unit of its table: `-` if it is zero, `0.0` if it is too small to show.
[[nodiscard]] std::string figure(double value);
/// A time in the unit of its table, with three digits.
[[nodiscard]] std::string fine_figure(double value);

}  // namespace ddl
