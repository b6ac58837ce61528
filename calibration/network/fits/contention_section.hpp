#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/network/sweep/contention_sweep.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"

namespace ddl {

/// Returns the contention factor φ of the level that joins the machine's nodes. φ equals the slowdown in the sweep, because
/// each group of the sweep has one rank per node, and therefore one flow on one rail. Empty if no level joins nodes.
[[nodiscard]] std::vector<MeasuredContention> measured_contention(std::span<const ContentionPoint> points,
                                                                  const Machine& machine, const std::string& source);

/// Returns a coefficients file with these values in place of earlier values of the same level. Other levels are kept.
[[nodiscard]] std::string with_contention_section(const std::string& file, std::span<const MeasuredContention> before,
                                                  std::span<const MeasuredContention> measured);

/// Returns a coefficients file with this congestion between nodes in its section `congestion`.
[[nodiscard]] std::string with_congestion_section(const std::string& file, std::span<const Congestion> before,
                                                  const Congestion& measured);

}  // namespace ddl
