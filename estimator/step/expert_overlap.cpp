#include "estimator/step/expert_overlap.hpp"

#include <algorithm>

#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// The part by which All-to-alls are shorter in an overlapped forward and backward. Kernels and exchanges
/// run at 1/s_c and 1/s_x of their speed until one of them is done.
double hidden_in_pairs(const Job& job, const LayerCosts& costs) {
  const Seconds exchanges = costs.experts_forward + costs.experts_backward;
  if (exchanges <= Seconds{}) return 0;
  const OverlapSlowdown& slowdown = job.coefficients.overlap;
  const Seconds both = min((costs.forward + costs.backward) * slowdown.kernels, exchanges * slowdown.exchange);
  return std::max(0.0, both / exchanges * (1.0 / slowdown.kernels + 1.0 / slowdown.exchange - 1.0));
}

}  // namespace

bool hides_expert_exchanges(const Software& software, const Plan& plan) {
  const bool alternates =
      plan.mesh[Axis::pipeline] == 1 || (plan.schedule == Schedule::one_forward_one_backward && plan.virtual_stages > 1);
  // What dispatches tokens again waits for it.
  const bool again = plan.recompute == Recompute::full ||
                     (plan.recompute == Recompute::selective && plan.recompute_modules.contains(RecomputeModule::moe));
  return software.overlaps_expert_exchanges.value_or(false) && plan.micro_batches > 1 && alternates && !again;
}

double hidden_share(const Job& job, const Plan& plan, const LayerCosts& costs, int stage) {
  if (!job.assumptions.overlap || !hides_expert_exchanges(job.coefficients.software, plan)) return 0;
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  // The forwards before the first backward run alone, and as many backwards in the end.
  const double alone = micro_batches_in_flight(plan.schedule, stage, plan.mesh[Axis::pipeline], micro_batches,
                                               plan.mesh[Axis::pipeline] == 1 ? 1 : plan.virtual_stages);
  return std::max(0.0, 1 - alone / micro_batches) * hidden_in_pairs(job, costs);
}

double most_hidden_share(const Job& job, const Plan& plan, const LayerCosts& costs) {
  Plan interleaved = plan;
  interleaved.schedule = Schedule::one_forward_one_backward;
  interleaved.virtual_stages = 2;
  interleaved.recompute = Recompute::none;
  if (!job.assumptions.overlap || !hides_expert_exchanges(job.coefficients.software, interleaved)) return 0;
  return (1 - 1 / static_cast<double>(plan.micro_batches)) * hidden_in_pairs(job, costs);
}

void add_hidden_exchanges(const LayerCosts& costs, double share, int stage, const Learned* origin,
                          std::vector<Task>& tasks) {
  if (share <= 0) return;
  const auto add = [&](bool backward, Seconds time, Seconds startups) {
    if (time <= Seconds{}) return;
    Term term;
    if (origin != nullptr) {
      term.add_exchange(path_coefficients(Purpose::layer), time * -share, startups * -share, *origin);
    } else {
      term.add(time * -share);
    }
    tasks.push_back({stage, backward, Part::layer_collectives, 0, term, 0});
  };
  add(false, costs.experts_forward, costs.slopes.experts_forward);
  add(true, costs.experts_backward, costs.slopes.experts_backward);
}

}  // namespace ddl
