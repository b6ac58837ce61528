#pragma once

#include <string>
#include <vector>

#include "estimator/exchanges/measured_exchanges.hpp"
#include "estimator/machine.hpp"
#include "estimator/step/explanation.hpp"

namespace ddl {

/// The machine with α and β of its levels such that the formulas which price exchanges give the measured times: of the
/// largest messages β, of the smallest α, the median over what was measured on a level. They price what was not measured
/// itself. A bandwidth that exceeds what the data sheet's rails carry stays the sheet's, with a note. A message between two
/// ranks counts for one rail.
[[nodiscard]] Machine with_fitted_links(Machine machine, const MeasuredExchanges& measured, std::vector<std::string>& notes);

/// What a plan's exchanges ask beyond what was measured, in sentences.
[[nodiscard]] std::vector<std::string> outside_of_measured(const MeasuredExchanges& measured, const Machine& machine,
                                                           const Explanation& explanation);

}  // namespace ddl
