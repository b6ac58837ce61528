#include "estimator/search/first_plans.hpp"

#include <algorithm>
#include <utility>

namespace ddl {

void FirstPlans::keep(const RankedPlan& feasible) {
  const auto wanted = static_cast<std::size_t>(options_.top);
  if (wanted == 0) return;
  if (last_ && !preferred(feasible, *last_, options_.objective)) return;
  kept_.push_back(estimator_.estimate(feasible.plan));
  if (kept_.size() >= 2 * wanted + 1000) leave_first();
}

std::vector<Estimate> FirstPlans::ranked_first() {
  leave_first();
  return kept_;
}

void FirstPlans::leave_first() {
  std::vector<const Estimate*> order;
  for (const Estimate& each : kept_) order.push_back(&each);
  std::sort(order.begin(), order.end(), [&](const Estimate* a, const Estimate* b) {
    return preferred(ranked(*a, options_), ranked(*b, options_), options_.objective);
  });
  const bool is_full = order.size() >= static_cast<std::size_t>(options_.top);
  if (is_full) order.resize(static_cast<std::size_t>(options_.top));
  std::vector<Estimate> first;
  first.reserve(order.size());
  for (const Estimate* each : order) first.push_back(*each);
  kept_ = std::move(first);
  if (!is_full || kept_.empty()) return;
  last_ = ranked(kept_.back(), options_);
}

}  // namespace ddl
