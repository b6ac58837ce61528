#include "estimator/explain/held_gradients.hpp"

#include <cstddef>

#include "estimator/layers/zero_parts.hpp"
#include "estimator/step/tasks.hpp"

namespace ddl {

std::vector<HeldGradients> held_gradients(const Job& job, const Plan& plan, const LayerCostTable& costs,
                                          const std::vector<int>& firsts, int stage) {
  std::vector<HeldGradients> all;
  const auto add = [&](const Plan& own_plan, const LayerCosts& own, double blocks) {
    HeldGradients& held = all.emplace_back(HeldGradients{
        own_plan, exchanged_bytes(own_plan, job.assumptions, job.facts), costs.gradients(own_plan, own, blocks), {}});
    held.exchange = exchange_of(costs, own_plan, held.each, held.groups);
  };
  if (plan.zero_segments.empty()) {
    add(plan, held_costs(costs, plan, firsts, stage), held_blocks(job.facts, plan, firsts, stage));
    return all;
  }
  const auto index = static_cast<std::size_t>(stage);
  for (const ZeroPart& part : zero_parts(plan, firsts[index], firsts[index + 1]))
    add(part.plan, costs_of(costs, part), blocks_of(job.facts, part));
  return all;
}

}  // namespace ddl
