#include "cli/report/steps.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "estimator/layers/token_pieces.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

bool steps_overlap(const Estimator& estimator, const Plan& plan) {
  return estimator.job().assumptions.weight_versions && plan.mesh[Axis::pipeline] > 1;
}

NamedStep named_step(const Estimator& estimator, const Plan& plan) {
  const std::string name = fmt::format("{}: {} ({})", estimator.job().facts.model->name, family_name(plan.mesh.family()),
                                       degrees_text(plan.mesh));
  std::optional<StepTimeline> timeline = step_timeline(estimator, plan);
  if (timeline) return {name, *std::move(timeline)};
  if (estimator.estimate(plan).time.step_time().value() <= 0) {
    throw Error(fmt::format("the plan of {} has no step: it is not possible", name),
                "use --format text, which shows the reason");
  }
  if (steps_overlap(estimator, plan)) {
    throw Error(fmt::format("the steps of {} overlap, because its stages use older versions of weights", name),
                "use --setting weight_versions=no, or another format");
  }
  if (token_pieces(estimator.job().facts, plan, estimator.job().assumptions) > 1) {
    throw Error(fmt::format("the stages of {} pass tokens on in pieces, and a drawn slot is a whole micro-batch", name),
                "use --setting token_pieces=1, or another format");
  }
  throw Error(fmt::format("the step of {} has more than {} slots", name, with_thousands(most_drawn_slots)),
              "draw a plan with fewer micro-batches: --micro-batches N");
}

}  // namespace ddl
