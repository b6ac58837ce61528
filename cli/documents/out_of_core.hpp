#pragma once

#include <nlohmann/json_fwd.hpp>

#include "calibration/study.hpp"
#include "cli/documents/document.hpp"
#include "estimator/out_of_core/out_of_core.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// What each group of layers does with its activations, and what that makes of time and memory of the estimate.
void add_out_of_core(Document& document, const OutOfCore& result, const Estimate& estimate, const Study& study);
[[nodiscard]] nlohmann::ordered_json out_of_core_to_json(const OutOfCore& result, const Estimate& estimate,
                                                         const Study& study);

}  // namespace ddl
