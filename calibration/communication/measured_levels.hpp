#pragma once

#include <span>
#include <string>
#include <vector>

#include "estimator/coefficients.hpp"
#include "estimator/machine.hpp"
#include "estimator/step/explanation.hpp"

namespace ddl {

/// The machine with latency and bandwidth of its levels as measured, where they were: level 0 by what ran inside a node,
/// level 1 by what ran between nodes; beyond, at least that latency. Bandwidth is that of the largest messages, latency that
/// of the smallest, of messages between two ranks where these were measured, else of an Allreduce, else of what there is. A
/// measured link is that of one rank, which stripes it over all rails of the level; where all ranks of a node sent at once
/// it is a share.
[[nodiscard]] Machine with_measured_levels(Machine machine, std::span<const MeasuredNetwork> network);

/// What of a plan's exchanges is outside of what was measured on their level: more ranks, or longer messages. Nothing where
/// nothing was measured there.
[[nodiscard]] std::vector<std::string> outside_of_measured(std::span<const MeasuredNetwork> network, const Machine& machine,
                                                           const Explanation& explanation);

}  // namespace ddl
