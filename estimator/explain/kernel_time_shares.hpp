#pragma once

#include <array>

#include "core/enum_array.hpp"
#include "estimator/explain/explanation.hpp"

namespace ddl {

/// Returns the share of the plan's kernel and update time by provenance, in the order of `provenances`; all zero if no time
/// is predicted.
[[nodiscard]] std::array<double, enum_values<Provenance>.size()> kernel_time_shares(const Explanation& explanation);

}  // namespace ddl
