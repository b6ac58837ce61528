#pragma once

#include <vector>

#include "calibration/learning/error_rows.hpp"

namespace ddl {

/// What widths are fitted to: rows of all bundled runs, with everything that is known of kernels, with what is known of
/// other devices alone, and with data sheets alone; and rows that were predicted from a fit to other runs of their table.
struct BundledErrorRows {
  std::vector<ErrorRow> rows, learned;
};

/// Predicts all bundled runs. It takes a minute.
[[nodiscard]] BundledErrorRows bundled_error_rows();

}  // namespace ddl
