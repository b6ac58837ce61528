#pragma once

#include <string_view>

#include "core/enum_array.hpp"

namespace ddl {

/// The source of a single time, in order of decreasing certainty.
enum class Provenance {
  measured,      ///< the time of the same problem was measured
  interpolated,  ///< between two measured neighbours, or a share of the model's measured total
  curve,         ///< fitted to other measurements: of other problems, models or splits on this device
  roofline       ///< the datasheet alone: for a kernel its roofline, for an exchange α and β
};
template <>
inline constexpr EnumNames<Provenance> enum_names<Provenance>{"measured", "interpolated", "curve", "roofline"};

/// The letter of a provenance in tables: M, I, C or R.
[[nodiscard]] constexpr std::string_view letter(Provenance source) {
  return EnumNames<Provenance>{"M", "I", "C", "R"}[source];
}

/// The provenance of a time with two parts is that of the less certain part.
[[nodiscard]] constexpr Provenance least_certain(Provenance a, Provenance b) { return a < b ? b : a; }

}  // namespace ddl
