#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/plausible.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// The reason why a text is not a valid quantity, with a hint. UnitProblem is a return value,
/// because each reader reports the problem at its own position.
struct UnitProblem {
  std::string message;
  std::string hint;
};

/// Parses a number followed by a unit: `80 GiB`, `5us`, `900 GB/s`, `100 Gb/s` (b is bits), `15.7 TFLOP/s`. The prefixes k M
/// G T P are powers of 1000, and Ki Mi Gi Ti Pi are powers of 1024; case matters. Refuses a missing unit, an unknown unit
/// (with "did you mean" for wrong case or another dimension), a negative number, nan, inf, overflow, and any text after the
/// unit. Returns the quantity, or sets `problem` and returns empty.
template <class Q>
[[nodiscard]] std::optional<Q> parse_quantity(std::string_view text, UnitProblem& problem);

extern template std::optional<Bytes> parse_quantity<Bytes>(std::string_view, UnitProblem&);
extern template std::optional<Seconds> parse_quantity<Seconds>(std::string_view, UnitProblem&);
extern template std::optional<Bandwidth> parse_quantity<Bandwidth>(std::string_view, UnitProblem&);
extern template std::optional<FlopRate> parse_quantity<FlopRate>(std::string_view, UnitProblem&);

/// Returns a message if a quantity is outside of its plausible range, which the message states.
/// Empty if the quantity is plausible or zero. `text`: the quantity as it is written in the file.
template <class Q>
[[nodiscard]] std::optional<UnitProblem> implausible(std::string_view text, Q value, const Plausible<Q>& range);

/// Like parse_quantity, but also refuses implausible values.
template <class Q>
[[nodiscard]] std::optional<Q> parse_plausible(std::string_view text, const Plausible<Q>& range, UnitProblem& problem) {
  const std::optional<Q> value = parse_quantity<Q>(text, problem);
  if (!value) return std::nullopt;
  if (auto beyond = implausible(text, *value, range)) {
    problem = *std::move(beyond);
    return std::nullopt;
  }
  return value;
}

/// Prints a quantity in the largest unit in which its number is at least 1: `16 GiB`, `1.5 GB`,
/// `3.2 us`. parse_quantity reads exactly the same value back.
[[nodiscard]] std::string print_quantity(Bytes value);
[[nodiscard]] std::string print_quantity(Seconds value);
[[nodiscard]] std::string print_quantity(Bandwidth value);
[[nodiscard]] std::string print_quantity(FlopRate value);

/// Prints a quantity with three significant digits: `12.9 GiB`, `231 ms`, `4 min 12 s`, `2 h 05 min`, `34.1 d`.
[[nodiscard]] std::string humanize(Bytes value);
[[nodiscard]] std::string humanize(Seconds value);
[[nodiscard]] std::string humanize(Bandwidth value);
[[nodiscard]] std::string humanize(FlopRate value);
[[nodiscard]] std::string humanize(Flops value);
/// Prints a number with commas between thousands: `1,281,167`.
[[nodiscard]] std::string with_thousands(std::int64_t value);

}  // namespace ddl
