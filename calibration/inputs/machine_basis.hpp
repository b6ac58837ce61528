#pragma once

#include <optional>
#include <string_view>

#include "calibration/inputs/machine_reader.hpp"
#include "estimator/inputs/coefficients.hpp"

namespace ddl {

/// The basis of a number, the most reliable first.
enum class NumberBasis {
  measured,    ///< on this machine: its coefficients hold them
  published,   ///< others measured machines of this kind, and nothing is assumed
  mixed,       ///< others measured some of them, others are assumed
  data_sheet,  ///< makers and operators say so
  assumed      ///< none is measured, and at least one is assumed
};
[[nodiscard]] std::string_view to_string(NumberBasis basis);

struct MachineBasis {
  NumberBasis kernels = NumberBasis::data_sheet;
  NumberBasis network = NumberBasis::data_sheet;
};

/// The basis of the times of kernels and of exchanges, read from the coefficients that come with the machine and from the
/// citations of its numbers: one of a measurement starts with "measured:", one of an assumption holds "assumed".
[[nodiscard]] MachineBasis basis_of(const MachineSheet& sheet, const std::optional<Coefficients>& coefficients);

}  // namespace ddl
