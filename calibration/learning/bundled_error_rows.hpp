#pragma once

#include <vector>

#include "calibration/learning/error_rows.hpp"

namespace ddl {

/// Prediction errors of all bundled runs, to which the widths of intervals are fitted. All runs are
/// predicted three times: with all kernel data, only with kernel data of other devices, and only
/// with datasheets.
struct BundledErrorRows {
  std::vector<ErrorRow> rows;
  std::vector<ErrorRow> stand_ins;  ///< predictions with all kernel data and the settings of other software
  std::vector<ErrorRow> learned;    ///< predictions with a fit to other runs of the same table
  std::vector<ErrorRow> reading;    ///< predictions of runs that include reading samples
};

/// Predicts all bundled runs, which takes a minute.
[[nodiscard]] BundledErrorRows bundled_error_rows();

}  // namespace ddl
