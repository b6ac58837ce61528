#pragma once

#include <array>
#include <string_view>

namespace ddl {

/// The source of a single time, in order of decreasing certainty.
enum class Provenance {
  measured,      ///< the same problem was measured
  interpolated,  ///< between two measured neighbours, or a share of the model's measured total
  curve,         ///< fitted to other measurements: of other problems, models or splits on this device
  roofline       ///< the datasheet alone: for a kernel its roofline, for an exchange α and β
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

/// The letter of a provenance in tables: M, I, C or R.
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

/// The provenance of a time with two parts is that of the less certain part.
[[nodiscard]] constexpr Provenance least_certain(Provenance a, Provenance b) { return a < b ? b : a; }

}  // namespace ddl
