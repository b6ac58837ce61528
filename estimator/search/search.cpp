#include "estimator/search/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "estimator/search/degrees.hpp"
#include "estimator/search/family_search.hpp"
#include "estimator/search/rank.hpp"
#include "estimator/search/ties.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 3> objective_names{"time", "cost", "memory"};

}  // namespace

std::string_view to_string(Objective objective) { return objective_names[static_cast<std::size_t>(objective)]; }
std::optional<Objective> parse_objective(std::string_view text) {
  const auto found = std::find(objective_names.begin(), objective_names.end(), text);
  if (found == objective_names.end()) return std::nullopt;
  return static_cast<Objective>(found - objective_names.begin());
}

namespace {

SearchResult search_once(const Estimator& estimator, const SearchOptions& options) {
  SearchResult result;
  const Degrees degrees(options, estimator.job().facts);
  FamilySearch families(estimator, options, result);
  std::vector<Candidates> candidates;
  std::int64_t all_degrees = 0;
  for (const auto& [family, plans] : degrees.by_family()) all_degrees += static_cast<std::int64_t>(plans.size());
  for (const auto& [family, plans] : degrees.by_family()) {
    candidates.push_back(families.candidates(family, plans, all_degrees));
    if (result.stopped) break;
  }
  // Simple families first, which are few plans, and of those the promising ones: the others are measured against good plans.
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidates& a, const Candidates& b) {
    const auto first = [](const Candidates& c) {
      return std::pair(std::popcount(c.family), c.meshes.empty() ? 0.0 : c.meshes.front().bound);
    };
    return first(a) < first(b);
  });
  std::int64_t all = result.considered;
  for (const Candidates& each : candidates) {
    for (const Candidates::Candidate& mesh : each.meshes) all += mesh.count;
  }
  for (const Candidates& each : candidates) {
    if (result.stopped || !families.run(each, all)) break;
  }
  families.keep_first();
  std::stable_sort(result.best.begin(), result.best.end(),
                   [&](const Estimate& a, const Estimate& b) { return families.is_better(a, b); });
  if (options.tie > 0 && !options.all && options.objective != Objective::memory) {
    const auto wanted = options.top > 0 ? static_cast<std::size_t>(options.top) : result.best.size();
    Ties(estimator, options, families.space()).settle(result.best, wanted);
  }
  std::stable_sort(result.ranked.begin(), result.ranked.end(),
                   [&](const RankedPlan& a, const RankedPlan& b) { return preferred(a, b, options.objective); });
  return result;
}

}  // namespace

SearchResult search(const Estimator& estimator, const SearchOptions& options) {
  SearchResult result = search_once(estimator, options);
  const auto is_open = [&](const PlanChoiceRow& row) {
    const auto& admitted = options.admitted[static_cast<std::size_t>(row.choice)];
    return row.needs_host && !options.chosen[row.choice] && (!admitted || admitted->size() > 1);
  };
  const bool may_offload = !options.offloads && estimator.job().machine.host && !estimator.job().assumptions.memory_reuse &&
                           std::any_of(plan_choices().begin(), plan_choices().end(), is_open);
  if (!may_offload || !result.best.empty() || result.stopped) return result;
  SearchOptions with_host = options;
  with_host.offloads = true;
  SearchResult offloaded = search_once(estimator, with_host);
  return offloaded.best.empty() ? result : offloaded;
}

}  // namespace ddl
