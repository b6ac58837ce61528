#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/kernels/kernel_table.hpp"

namespace ddl {

/// Parses the value of `option`: conditions on the rows of a table, such as
/// `gpu=A100-SXM4-80GB,H100-SXM5-80GB`. Throws Error for an invalid condition.
[[nodiscard]] std::vector<RowFilter> row_filters(std::string_view option, const std::vector<std::string>& texts);

}  // namespace ddl
