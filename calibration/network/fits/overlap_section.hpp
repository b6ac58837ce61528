#pragma once

#include <optional>
#include <string>

#include "calibration/network/sweep/overlap_sweep.hpp"
#include "estimator/inputs/coefficients.hpp"

namespace ddl {

/// Returns the slowdown of concurrent kernels and exchanges that a sweep measured. Overlap never
/// makes kernels or exchanges faster, so measured values below 1 are noise, and are set to 1. Empty
/// if kernels or the exchange took no time alone, or if there is only one rank.
[[nodiscard]] std::optional<OverlapSlowdown> measured_overlap(const Overlap& overlap, const std::string& source);

/// Returns a coefficients file in which these values replace the file's own slowdowns, or are appended.
[[nodiscard]] std::string with_overlap_section(const std::string& file, const OverlapSlowdown& measured);

}  // namespace ddl
