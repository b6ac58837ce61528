#pragma once

#include <optional>
#include <string>

#include "calibration/network/sweep/overlap_sweep.hpp"
#include "estimator/inputs/coefficients.hpp"

namespace ddl {

/// How much longer kernels and exchange took beside each other, as a sweep measured it. Neither is faster so: what was
/// measured below 1 is noise, and 1. Nothing where kernels or exchange took no time alone, or where one rank had nobody to
/// exchange with.
[[nodiscard]] std::optional<OverlapSlowdown> measured_overlap(const Overlap& overlap, const std::string& source);

/// A coefficients file with this in place of its own, or behind its end.
[[nodiscard]] std::string with_overlap_section(const std::string& file, const OverlapSlowdown& measured);

}  // namespace ddl
