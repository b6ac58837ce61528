#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/network/sweep/contention_sweep.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"

namespace ddl {

/// φ of the level that joins the machine's nodes, as a sweep measured it: its slow-down, as each of its groups has one rank
/// on a node, and so one flow on one rail. Nothing where nodes are not joined at all.
[[nodiscard]] std::vector<MeasuredContention> measured_contention(std::span<const ContentionPoint> points,
                                                                  const Machine& machine, const std::string& source);

/// A coefficients file with these in place of its own of the same level; its others stay.
[[nodiscard]] std::string with_contention_section(const std::string& file, std::span<const MeasuredContention> before,
                                                  std::span<const MeasuredContention> measured);

}  // namespace ddl
