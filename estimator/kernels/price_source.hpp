#pragma once

#include <array>
#include <string_view>

namespace ddl {

/// Where a single price comes from, the nearest to a measurement first.
enum class PriceSource {
  measured,      ///< this very problem was timed
  interpolated,  ///< between two measured neighbours, or the model's measured total shared out by roofline time
  curve,         ///< a fit of other measurements: what other problems, models or splits reach on this device
  roofline       ///< the data sheet alone: of a kernel its roofline, of an exchange α and β
};

inline constexpr std::array<PriceSource, 4> price_sources{PriceSource::measured, PriceSource::interpolated,
                                                          PriceSource::curve, PriceSource::roofline};

[[nodiscard]] constexpr std::string_view to_string(PriceSource source) {
  switch (source) {
    case PriceSource::measured:
      return "measured";
    case PriceSource::interpolated:
      return "interpolated";
    case PriceSource::curve:
      return "curve";
    case PriceSource::roofline:
      return "roofline";
  }
  return "";
}

/// M, I, C or R: for tables.
[[nodiscard]] constexpr std::string_view letter(PriceSource source) {
  switch (source) {
    case PriceSource::measured:
      return "M";
    case PriceSource::interpolated:
      return "I";
    case PriceSource::curve:
      return "C";
    case PriceSource::roofline:
      return "R";
  }
  return "";
}

/// A price made of two is as far from a measurement as the farther of them.
[[nodiscard]] constexpr PriceSource farther(PriceSource a, PriceSource b) { return a < b ? b : a; }

}  // namespace ddl
