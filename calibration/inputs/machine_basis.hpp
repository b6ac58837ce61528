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

/// Returns the basis of the times of kernels and of exchanges. It is read from the coefficients of the machine and from the
/// citations of the machine's numbers: the citation of a measurement starts with "measured:", and the citation of an
/// assumption contains "assumed".
[[nodiscard]] MachineBasis basis_of(const MachineSheet& sheet, const std::optional<Coefficients>& coefficients);

}  // namespace ddl
