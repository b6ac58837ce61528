#pragma once

#include <optional>

#include "calibration/inputs/machine_reader.hpp"
#include "core/enum_array.hpp"
#include "estimator/inputs/coefficients.hpp"

namespace ddl {

/// What a number is based on, the most reliable first.
enum class NumberBasis {
  measured,    ///< measured on this machine: its coefficients contain the measurements
  published,   ///< published: measured on other machines of this kind, with no assumptions
  mixed,       ///< some numbers were measured on other machines, and some are assumed
  data_sheet,  ///< stated by vendors and operators
  assumed      ///< no number is measured, and at least one is assumed
};
template <>
inline constexpr EnumNames<NumberBasis> enum_names<NumberBasis>{"measured", "published", "mixed", "data sheet", "assumed"};

struct MachineBasis {
  NumberBasis kernels = NumberBasis::data_sheet;
  NumberBasis network = NumberBasis::data_sheet;
};

/// Returns the basis of kernel times and the basis of exchange times. The function reads the
/// machine's coefficients and the citations of the machine's numbers. The citation of a measurement
/// starts with "measured:" or "fitted:". The citation of an assumption contains "assumed".
[[nodiscard]] MachineBasis basis_of(const SourcedMachine& sourced, const std::optional<Coefficients>& coefficients);

}  // namespace ddl
