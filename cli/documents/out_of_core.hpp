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

/// For each group of layers, what happens to its activations; then the resulting time and memory compared with the estimate.
void add_out_of_core(Document& document, const OutOfCore& result, const Estimate& estimate, const Study& study);
/// The plan out of core, if the plan fits in no other way; else empty. The available memory is the memory of the estimator's
/// machine.
[[nodiscard]] std::optional<OutOfCore> fitting_out_of_core(const Estimator& estimator, const MemoryCheck& checked);
/// One line: what is offloaded or recomputed, the time of a step, and the command that shows more.
[[nodiscard]] std::string out_of_core_in_short(const OutOfCore& result, const Estimate& estimate);
[[nodiscard]] nlohmann::ordered_json out_of_core_to_json(const OutOfCore& result, const Estimate& estimate,
                                                         const Study& study);

}  // namespace ddl
