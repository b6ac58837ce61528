#include "estimator/search/table_search.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "estimator/strategies/embedding_tables.hpp"

namespace ddl {
namespace {

using Ways = std::vector<Tables>;

/// The ways that are tried. Hybrid tables are those of HugeCTR alone.
constexpr auto tried_ways = {Tables::replicated, Tables::whole, Tables::rows, Tables::columns};

class TableAssignment {
 public:
  TableAssignment(const Estimator& estimator, const Plan& alike) : estimator_(estimator), alike_(alike) {}

  /// Estimates a plan. Returns whether it fits and is faster than all plans before.
  bool try_ways(const Ways& ways) {
    if (!known_.insert(ways).second) return false;
    Plan plan = alike_;
    plan.tables = ways.front();
    plan.table_segments.clear();
    for (std::size_t i = 1; i < ways.size(); ++i) plan.table_segments.push_back({static_cast<int>(i), ways[i]});
    join_table_segments(plan);
    Estimate estimate = estimator_.estimate(plan);
    if (!estimate.feasible() || (best_ && estimate.time.step_time() >= best_->time.step_time())) return false;
    best_ = std::move(estimate);
    ways_ = ways;
    return true;
  }

  /// Changes the way of one table after the other while the plan becomes faster.
  void improve() {
    constexpr int most_rounds = 4;
    bool is_faster = best_.has_value();
    for (int round = 0; is_faster && round < most_rounds; ++round) {
      is_faster = false;
      for (std::size_t table = 0; table < ways_.size(); ++table) {
        for (const Tables way : tried_ways) {
          Ways changed = ways_;
          changed[table] = way;
          is_faster = try_ways(changed) || is_faster;
        }
      }
    }
  }

  [[nodiscard]] const std::optional<Estimate>& best() const { return best_; }

 private:
  const Estimator& estimator_;
  Plan alike_;
  std::set<Ways> known_;
  std::optional<Estimate> best_;
  Ways ways_;
};

}  // namespace

std::optional<Estimate> best_by_table(const Estimator& estimator, const Plan& alike) {
  const std::vector<LookupTable>& tables = estimator.job().facts.tables;
  if (tables.size() < 2 || alike.mesh[Axis::data] == 1) return std::nullopt;
  std::vector<std::size_t> by_size(tables.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return tables[a].parameters() < tables[b].parameters(); });
  TableAssignment assignment(estimator, alike);
  for (const Tables way : tried_ways) {
    Ways ways(tables.size(), way);
    assignment.try_ways(ways);
    for (const std::size_t table : by_size) {
      ways[table] = Tables::replicated;
      assignment.try_ways(ways);
    }
  }
  assignment.improve();
  const std::optional<Estimate>& best = assignment.best();
  return best && !best->plan.table_segments.empty() ? best : std::nullopt;
}

}  // namespace ddl
