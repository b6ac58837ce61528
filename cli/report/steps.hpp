#pragma once

#include <string>

#include "estimator/step/estimate.hpp"
#include "estimator/step/step_timeline.hpp"

namespace ddl {

/// A predicted step, and what it is of: `llama3-8b: data (data=64)`.
struct NamedStep {
  std::string name;
  StepTimeline timeline;
};

/// The predicted step of a plan, slice by slice. Throws Error where the plan has no price, or too many slots to be drawn.
[[nodiscard]] NamedStep named_step(const Estimator& estimator, const Plan& plan);

}  // namespace ddl
