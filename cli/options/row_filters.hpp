#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/kernels/kernel_table.hpp"

namespace ddl {

/// Conditions on the rows of a table, as `option` was given them: `gpu=A100-SXM4-80GB,H100-SXM5-80GB`. Throws Error on what
/// is no condition.
[[nodiscard]] std::vector<RowFilter> row_filters(std::string_view option, const std::vector<std::string>& texts);

}  // namespace ddl
