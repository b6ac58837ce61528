#pragma once

#include <string>

#include "estimator/step/estimate.hpp"
#include "estimator/step/step_timeline.hpp"

namespace ddl {

/// A predicted step and its title: `llama3-8b: data (data=64)`.
struct NamedStep {
  std::string name;
  StepTimeline timeline;
};

/// Returns whether the steps of a plan overlap, because stages of its pipeline use older versions of weights. No timeline
/// shows them.
[[nodiscard]] bool steps_overlap(const Estimator& estimator, const Plan& plan);

/// Returns the predicted step of a plan, slice by slice. Throws Error if the plan has no predicted time, if its steps
/// overlap, or if it has more slots than a drawing can show.
[[nodiscard]] NamedStep named_step(const Estimator& estimator, const Plan& plan);

}  // namespace ddl
