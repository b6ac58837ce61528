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

/// What each group of layers does with its activations, and what that makes of time and memory of the estimate.
void add_out_of_core(Document& document, const OutOfCore& result, const Estimate& estimate, const Study& study);
/// The plan out of core, where that makes fit what does not; nothing of another plan. The memory is that of the estimator's
/// machine.
[[nodiscard]] std::optional<OutOfCore> fitting_out_of_core(const Estimator& estimator, const MemoryCheck& checked);
/// In a line: what leaves the device, what a step then takes, and how to ask for more.
[[nodiscard]] std::string out_of_core_in_short(const OutOfCore& result, const Estimate& estimate);
[[nodiscard]] nlohmann::ordered_json out_of_core_to_json(const OutOfCore& result, const Estimate& estimate,
                                                         const Study& study);

}  // namespace ddl
