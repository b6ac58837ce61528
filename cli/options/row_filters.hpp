#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/kernels/kernel_table.hpp"

namespace ddl {

/// The conditions on the rows of a table that were given for `option`: `gpu=A100-SXM4-80GB,H100-SXM5-80GB`. Throws Error
/// for an invalid condition.
[[nodiscard]] std::vector<RowFilter> row_filters(std::string_view option, const std::vector<std::string>& texts);

}  // namespace ddl
