#include "estimator/explain/unmeasured.hpp"

#include <algorithm>
#include <unordered_map>

namespace ddl {

std::vector<UnmeasuredProblem> unmeasured_problems(const Estimator& estimator, const std::vector<Estimate>& plans) {
  std::vector<UnmeasuredProblem> problems;
  std::unordered_map<std::string, std::size_t> places;
  for (const Estimate& plan : plans) {
    const Explanation explanation = explain(estimator, plan.plan);
    for (const LayerExplanation& layer : explanation.layers) {
      for (const TimedProblem& each : layer.detail.problems) {
        if (each.source == Provenance::measured) continue;
        const auto [place, is_new] = places.try_emplace(each.line, problems.size());
        if (is_new) problems.push_back({each.line, {}});
        problems[place->second].time +=
            each.time * (each.is_update ? 1.0 : runs_per_iteration(plan.plan, layer, each.phase));
      }
    }
  }
  std::stable_sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
  return problems;
}

}  // namespace ddl
