#pragma once

#include <string_view>

#include "core/enum_array.hpp"

namespace ddl {

/// The source of a single time. Enumerators are ordered from most to least certain.
enum class Provenance {
  measured,      ///< the time of the same problem was measured
  interpolated,  ///< interpolated between two measured neighbors, or a share of the model's measured total
  curve,         ///< fitted to other measurements on this device: of other problems, models or splits
  roofline       ///< computed from the datasheet alone: for a kernel its roofline, for an exchange α and β
};
template <>
inline constexpr EnumNames<Provenance> enum_names<Provenance>{"measured", "interpolated", "curve", "roofline"};

/// Returns the letter of a provenance in tables: M, I, C or R.
[[nodiscard]] constexpr std::string_view letter(Provenance source) {
  return EnumNames<Provenance>{"M", "I", "C", "R"}[source];
}

/// Returns the provenance of the sum of two times, which is the provenance of the less certain time.
[[nodiscard]] constexpr Provenance least_certain(Provenance a, Provenance b) { return a < b ? b : a; }

}  // namespace ddl
