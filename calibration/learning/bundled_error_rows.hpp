#pragma once

#include <vector>

#include "calibration/learning/error_rows.hpp"

namespace ddl {

/// The rows that interval widths are fitted to: of all bundled runs, with all kernel data, with kernel data of other devices
/// alone, and with datasheets alone; and rows predicted from a fit to other runs of their table.
struct BundledErrorRows {
  std::vector<ErrorRow> rows, learned;
};

/// Predicts all bundled runs. It takes a minute.
[[nodiscard]] BundledErrorRows bundled_error_rows();

}  // namespace ddl
