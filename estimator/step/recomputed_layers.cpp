#include "estimator/step/recomputed_layers.hpp"

#include <algorithm>

namespace ddl {

std::vector<LayerRange> recomputed_blocks(const Model&, const LayerKinds& kinds, const Plan& plan, int first, int last) {
  std::vector<LayerRange> again;
  if (plan.recompute != Recompute::full) return again;
  int begin = first;
  for (const LayerRange& outside : kinds.outside) {
    if (outside.last <= begin) continue;
    if (outside.first >= last) break;
    if (outside.first > begin) again.push_back({begin, outside.first});
    begin = outside.last;
  }
  if (begin < last) again.push_back({begin, last});
  return again;
}

LayerCosts recomputed_costs(const Model& model, const LayerCostTable& costs, const Plan& plan, int first, int last) {
  LayerCosts again;
  for (const LayerRange& range : recomputed_blocks(model, costs.kinds(), plan, first, last))
    again.add(costs.between(range.first, range.last), 1.0);
  return again;
}

std::vector<bool> runs_again(const Plan& plan, const ModelFacts& facts, const Assumptions& assumptions,
                             const LayerKinds& kinds, const std::vector<int>& firsts) {
  std::vector<bool> again(facts.model->layers.size());
  for (std::size_t layer = 0; layer < again.size() && plan.recompute == Recompute::selective; ++layer)
    again[layer] = is_selected(facts, assumptions, static_cast<int>(layer));
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
    for (const LayerRange& range : recomputed_blocks(*facts.model, kinds, plan, firsts[stage], firsts[stage + 1]))
      std::fill(again.begin() + range.first, again.begin() + range.last, true);
  }
  return again;
}

}  // namespace ddl
