#pragma once

#include <vector>

#include "calibration/learning/error_rows.hpp"

namespace ddl {

/// The rows that interval widths are fitted to: all bundled runs, predicted with all kernel data, only with kernel data of
/// other devices, and only with datasheets; and rows predicted from a fit to other runs of their table.
struct BundledErrorRows {
  std::vector<ErrorRow> rows, learned;
};

/// Predicts all bundled runs, which takes a minute.
[[nodiscard]] BundledErrorRows bundled_error_rows();

}  // namespace ddl
