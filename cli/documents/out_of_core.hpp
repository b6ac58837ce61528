#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/out_of_core/out_of_core.hpp"
#include "estimator/search/memory_check.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Adds a table of what happens to the activations of each group of layers. Then compares the time
/// and memory with the estimate in core.
void add_out_of_core(Document& document, const OutOfCore& result, const Estimate& estimate, const Study& study);
/// Returns the plan out of core, if the plan fits in no other way. Empty if the plan fits in core, cannot run out of core,
/// or does not fit even out of core. The available memory is that of the estimator's machine.
[[nodiscard]] std::optional<OutOfCore> fitting_out_of_core(const Estimator& estimator, const MemoryCheck& checked);
/// Summarizes a plan out of core in one line: what is offloaded or recomputed, the time of a step,
/// and the command that shows more.
[[nodiscard]] std::string out_of_core_in_short(const OutOfCore& result, const Estimate& estimate);
[[nodiscard]] nlohmann::ordered_json out_of_core_to_json(const OutOfCore& result, const Estimate& estimate,
                                                         const Study& study);

}  // namespace ddl
