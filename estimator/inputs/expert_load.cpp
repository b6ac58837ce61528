#include "estimator/inputs/expert_load.hpp"

#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// The largest load of 64 experts above the mean, relative to the mean, on average over the layers of two models of 1 and 3
/// billion parameters [Wang et al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts", arXiv 2408.15664,
/// table 2, MaxVio_global: 0.72 and 0.52 under an auxiliary loss, 0.04 and 0.04 without; appendix A].
constexpr double violation_of_loss = (0.72 + 0.52) / 2, violation_of_bias = 0.04, violating_experts = 64;

/// Returns the expected maximum of n independent standard normal values [Blom, "Statistical estimates and transformed beta
/// variables", 1958].
double expected_maximum(double n) {
  constexpr double blom = 0.375;
  return n <= 1 ? 0.0 : normal_quantile((n - blom) / (n + 1 - 2 * blom));
}

}  // namespace

double routed_load(Routing routing, double experts, double ranks) {
  const bool is_forced = routing == Routing::balanced || routing == Routing::consecutive;
  if (is_forced || ranks <= 1 || experts <= 1) return 1;
  const double violation = routing == Routing::natural ? violation_of_loss : violation_of_bias;
  const double spread = violation / expected_maximum(violating_experts);
  // The mean of the independent loads of several experts has a smaller spread.
  return 1 + spread / std::sqrt(std::max(experts / ranks, 1.0)) * expected_maximum(ranks);
}

double expert_load(const Assumptions& assumptions, double experts, double ranks) {
  if (assumptions.padded_experts && assumptions.capacity_factor) return *assumptions.capacity_factor;
  if (ranks <= 1) return 1;
  const double load =
      assumptions.expert_imbalance.value_or(routed_load(assumptions.routing.value_or(Routing::balanced), experts, ranks));
  return assumptions.capacity_factor ? std::min(load, *assumptions.capacity_factor) : load;
}

double natural_load(const Assumptions& assumptions, double experts, double ranks) {
  const double load = routed_load(Routing::natural, experts, ranks);
  return std::min(load, assumptions.capacity_factor.value_or(load));
}

bool is_load_unknown(const Assumptions& assumptions) {
  return !assumptions.routing && !assumptions.expert_imbalance &&
         !(assumptions.padded_experts && assumptions.capacity_factor);
}

bool may_hide_expert_exchanges(const Plan& plan) {
  const bool alternates = plan.mesh[Axis::pipeline] == 1 || order_of(plan.schedule).course == Course::both_ways ||
                          (plan.schedule == Schedule::one_forward_one_backward && plan.virtual_stages > 1);
  // If backward recomputes the dispatch of tokens, the recomputed dispatch is not overlapped.
  const bool again = plan.recompute == Recompute::full ||
                     (plan.recompute == Recompute::selective && plan.recompute_modules.contains(RecomputeModule::moe));
  return plan.micro_batches > 1 && alternates && !again;
}

}  // namespace ddl
