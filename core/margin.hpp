#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.hpp"
#include "core/units.hpp"

namespace ddl {

/// What is to stay free of a device's memory: so many bytes, or else a share of it.
struct Margin {
  Bytes bytes{};
  double percent = 0;

  [[nodiscard]] Bytes of(Bytes memory) const { return bytes + memory * (percent / 100); }
  friend bool operator==(const Margin&, const Margin&) = default;
};

/// `2 GiB` or `5 %`, from 0 to less than 100. Nothing, with the problem set, where it is neither.
[[nodiscard]] std::optional<Margin> parse_margin(std::string_view text, UnitProblem& problem);
/// Text that parse_margin reads back to the same.
[[nodiscard]] std::string print_margin(const Margin& margin);

}  // namespace ddl
