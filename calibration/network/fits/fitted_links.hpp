#pragma once

#include <string>
#include <vector>

#include "estimator/explain/explanation.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// The machine with fitted α and β of its levels, so that the formulas for exchanges reproduce the measured times. β comes
/// from the largest messages, α from the smallest, each as the median over the measurements of a level. They are used for
/// exchanges that were not measured. A bandwidth above that of the datasheet's rails is replaced by the datasheet's, with a
/// note. A message between two ranks counts for one rail. Collectives that use most of a node's rails determine the
/// bandwidth of each rail.
[[nodiscard]] Machine with_fitted_links(Machine machine, const MeasuredExchanges& measured, std::vector<std::string>& notes);

/// If only messages of two ranks, or collectives of one rank per node, were measured between nodes, predictions make
/// assumptions: the algorithm of a collective, and that the rails of a node have the same total bandwidth together as
/// separately, unless concurrent groups were measured (`contention`). Returns a sentence with these assumptions and the
/// missing measurements. Empty if collectives of several ranks per node were measured, or no exchange between nodes.
[[nodiscard]] std::string assumed_between_nodes(const MeasuredExchanges& measured,
                                                const std::vector<MeasuredContention>& contention, const Machine& machine);

/// Returns sentences about exchanges of a plan that are outside of the measured range.
[[nodiscard]] std::vector<std::string> outside_of_measured(const Coefficients& coefficients, const Machine& machine,
                                                           const Explanation& explanation);

}  // namespace ddl
