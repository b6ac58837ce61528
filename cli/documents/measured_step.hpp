#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/report/chart.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Compares a step that the user measured with the prediction, for the headline.
[[nodiscard]] Card measured_card(const Estimate& estimate, Seconds measured);
/// Adds, for each source of error that alone can explain the measured step, the error needed. Adds nothing without an
/// interval.
void add_measured(Document& document, const Estimate& estimate, Seconds measured, const Estimator& estimator);
[[nodiscard]] nlohmann::ordered_json measured_to_json(const Estimate& estimate, Seconds measured,
                                                      const Estimator& estimator);

}  // namespace ddl
