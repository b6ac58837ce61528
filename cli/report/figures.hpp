#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/units.hpp"

namespace ddl {

struct Device;

/// Returns the number of columns that a text takes on a terminal. Counts UTF-8 code points, which
/// is correct for the characters that reports use.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// Returns a count and its noun: `1 GPU`, `1,024 GPUs`.
[[nodiscard]] std::string count_text(std::int64_t count, std::string_view thing);
/// Returns the noun for a device: `GPU`, `processor`, or that of its machine file. The text belongs to the device.
[[nodiscard]] std::string_view device_noun(const Device& device);
/// Prints a whole number: `1,281,167`. Numbers above 64 bits have four digits and a power of ten.
[[nodiscard]] std::string whole_text(double count);
/// Prints a fraction as a percentage: `12 %` for 0.12.
[[nodiscard]] std::string share_text(double share);
/// Prints an amount of money. Amounts from 100 on have no cents.
[[nodiscard]] std::string amount(double value);

/// The unit of the times in a table, chosen for the longest time.
struct TimeUnit {
  std::string name;
  double factor = 1;
};
[[nodiscard]] TimeUnit time_unit(Seconds longest);
/// Prints a time in the unit of its table: `-` for zero, `0.0` for a time that is too small to show.
[[nodiscard]] std::string figure(double value);
/// Prints a time in the unit of its table, with three digits.
[[nodiscard]] std::string fine_figure(double value);

}  // namespace ddl
