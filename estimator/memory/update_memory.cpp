#include "estimator/facts/preconditioners.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/memory/memory.hpp"
#include "model_zoo/network/optimizer.hpp"

// Memory that the optimizer's update needs in addition to weights, gradients and state.
namespace ddl {

double update_scratch_bytes(const Plan& plan, const Assumptions& assumptions) {
  const bool for_each = plan.optimizer == Optimizer::adam || plan.optimizer == Optimizer::adamw;
  const bool is_one_by_one =
      assumptions.update == UpdateImplementation::fused || assumptions.update == UpdateImplementation::single;
  if (!for_each || is_one_by_one || plan.offload != Offload::none) return 0.0;
  const bool is_half = is_mixed(plan.precision) && assumptions.mixed_precision == MixedPrecision::pure;
  const bool is_cast = is_mixed(plan.precision) && assumptions.mixed_precision == MixedPrecision::autocast;
  // If the implementation is unset, optimizers with master weights are fused. LAMB (Apex) and 8-bit Adam (bitsandbytes) are
  // always fused. Momentum is updated in place.
  const bool fused = (is_mixed(plan.precision) && !is_cast && !is_half) || (plan.zero_stage > 0 && plan.mesh.replicas() > 1);
  if (fused && assumptions.update != UpdateImplementation::foreach) return 0.0;
  constexpr double half_bytes = 2, wide_bytes = 4;
  return is_half ? half_bytes : is_mixed(plan.precision) ? wide_bytes : item_bytes(plan.precision);
}

double flat_gradient_items(const Plan& plan, const Assumptions& assumptions, double trained) {
  const bool half = is_mixed(plan.precision) && assumptions.mixed_precision == MixedPrecision::half_gradients;
  const bool joins = assumptions.flat_gradients && half && (plan.zero_stage == 1 || plan.zero_stage == 2);
  return joins && plan.offload == Offload::none ? trained / plan.shards() : 0.0;
}

double early_update_bytes(const Plan& plan, const Assumptions& assumptions) {
  if (!assumptions.graph_update || plan.offload != Offload::none) return 0.0;
  constexpr double wide_bytes = 4;
  const double decays = plan.optimizer == Optimizer::adamw || plan.optimizer == Optimizer::lamb ? 1 : 0;
  return wide_bytes * (optimizer_slots(plan.optimizer) + decays);
}

bool frees_gradients(const Plan& plan, const Assumptions& assumptions) {
  return moves_gradients(plan, assumptions) || assumptions.updates_in_backward;
}

double projected_state_bytes(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions, double moment) {
  if (facts.trained_parameters <= 0) return 0;
  const ProjectedState state = projected_state(facts, assumptions.projection_rank);
  const double each = has_8bit_state(plan.optimizer) ? optimizer_state_bytes(Optimizer::adam8bit) / 2 : moment;
  const double moments = state.moments + 2 * (facts.trained_parameters - state.parameters);
  return (each * moments + computed_gradient_bytes(plan, assumptions) * state.projectors) / facts.trained_parameters;
}

Bytes projection_scratch(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions) {
  if (!is_projected(plan.optimizer) || plan.offload != Offload::none) return {};
  constexpr double wide_bytes = 4, gradients = 2;
  const ProjectedState state = projected_state(facts, assumptions.projection_rank);
  const Bytes whole(gradients * state.largest * computed_gradient_bytes(plan, assumptions));
  return projects_by_singular_vectors(plan.optimizer) ? max(whole, Bytes(wide_bytes * state.decomposition)) : whole;
}

}  // namespace ddl
