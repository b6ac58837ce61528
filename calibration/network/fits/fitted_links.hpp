#pragma once

#include <string>
#include <vector>

#include "estimator/explain/explanation.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// The machine with α and β of its levels such that the formulas which price exchanges give the measured times: of the
/// largest messages β, of the smallest α, the median over what was measured on a level. They price what was not measured
/// itself. A bandwidth that exceeds what the data sheet's rails carry stays the sheet's, with a note. A message between two
/// ranks counts for one rail. Collectives that reach most of a node's rails tell what each of these carries.
[[nodiscard]] Machine with_fitted_links(Machine machine, const MeasuredExchanges& measured, std::vector<std::string>& notes);

/// What prices between nodes assume where messages of two ranks, or collectives of one rank a node, are all that was
/// measured there: which algorithm a collective runs, and that the rails of a node carry as much together as one after the
/// other, unless groups at once were measured (`contention`). A sentence that also says what to measure; empty where
/// collectives of several ranks a node were measured, or nothing between nodes.
[[nodiscard]] std::string assumed_between_nodes(const MeasuredExchanges& measured,
                                                const std::vector<MeasuredContention>& contention, const Machine& machine);

/// What a plan's exchanges ask beyond what was measured, in sentences.
[[nodiscard]] std::vector<std::string> outside_of_measured(const Coefficients& coefficients, const Machine& machine,
                                                           const Explanation& explanation);

}  // namespace ddl
