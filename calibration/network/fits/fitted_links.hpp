#pragma once

#include <string>
#include <vector>

#include "estimator/explain/explanation.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// Returns the machine with fitted α and β of its levels, with which the formulas for exchanges reproduce the measured
/// times. β comes from the largest messages and α from the smallest; each is the median over the measurements of a level.
/// The fitted α and β are used for exchanges that were not measured. If a bandwidth exceeds the bandwidth of the datasheet's
/// rails, the datasheet's bandwidth is used, with a note. A message between two ranks uses one rail. Collectives that use
/// most of a node's rails determine the bandwidth of each rail.
[[nodiscard]] Machine with_fitted_links(Machine machine, const MeasuredExchanges& measured, std::vector<std::string>& notes);

/// Returns a sentence with the assumptions that predictions between nodes make, and the missing measurements. If only
/// messages of two ranks, or collectives of one rank per node, were measured between nodes, predictions assume an algorithm
/// for collectives. If concurrent groups were not measured (`contention`), they also assume that the rails of a node do not
/// slow each other down. Empty if collectives of several ranks per node were measured, or no exchange between nodes.
[[nodiscard]] std::string assumed_between_nodes(const MeasuredExchanges& measured,
                                                const std::vector<MeasuredContention>& contention, const Machine& machine);

/// Returns sentences about exchanges of a plan that are outside of the measured range.
[[nodiscard]] std::vector<std::string> outside_of_measured(const Coefficients& coefficients, const Machine& machine,
                                                           const Explanation& explanation);

}  // namespace ddl
