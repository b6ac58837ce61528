#pragma once

#include <array>
#include <string_view>

namespace ddl {

/// Where a single price comes from, the nearest to a measurement first.
enum class Provenance {
  measured,      ///< this very problem was timed
  interpolated,  ///< between two measured neighbours, or the model's measured total shared out by roofline time
  curve,         ///< a fit of other measurements: what other problems, models or splits reach on this device
  roofline       ///< the data sheet alone: of a kernel its roofline, of an exchange α and β
};

inline constexpr std::array<Provenance, 4> provenances{Provenance::measured, Provenance::interpolated, Provenance::curve,
                                                       Provenance::roofline};

[[nodiscard]] constexpr std::string_view to_string(Provenance source) {
  switch (source) {
    case Provenance::measured:
      return "measured";
    case Provenance::interpolated:
      return "interpolated";
    case Provenance::curve:
      return "curve";
    case Provenance::roofline:
      return "roofline";
  }
  return "";
}

/// M, I, C or R: for tables.
[[nodiscard]] constexpr std::string_view letter(Provenance source) {
  switch (source) {
    case Provenance::measured:
      return "M";
    case Provenance::interpolated:
      return "I";
    case Provenance::curve:
      return "C";
    case Provenance::roofline:
      return "R";
  }
  return "";
}

/// A price made of two is as far from a measurement as the farther of them.
[[nodiscard]] constexpr Provenance least_certain(Provenance a, Provenance b) { return a < b ? b : a; }

}  // namespace ddl
