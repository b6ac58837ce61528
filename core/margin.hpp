#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.hpp"
#include "core/units.hpp"

namespace ddl {

/// The part of a device's memory that must stay free: a number of bytes, or a share of the memory.
struct Margin {
  Bytes bytes{};
  double percent = 0;

  [[nodiscard]] Bytes of(Bytes memory) const { return bytes + memory * (percent / 100); }
  friend bool operator==(const Margin&, const Margin&) = default;
};

/// Parses `2 GiB` or `5 %`, from 0 to less than 100. Returns empty and sets `problem` if the text is neither.
[[nodiscard]] std::optional<Margin> parse_margin(std::string_view text, UnitProblem& problem);
/// Prints a margin as text, which parse_margin parses to the same value.
[[nodiscard]] std::string print_margin(const Margin& margin);

}  // namespace ddl
