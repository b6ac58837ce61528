#include "estimator/search/ties.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "estimator/search/rank.hpp"
#include "estimator/step/step_sensitivity.hpp"

namespace ddl {

bool splits_short_contexts(const ModelFacts& facts, const Plan& plan) {
  return plan.mesh[Axis::context] > 1 && facts.context_units < least_measured_context;
}

Verdict Ties::verdict_as_reserved(Estimate& estimate) const {
  add_reserved(estimator_, estimate);
  if (estimate.feasible()) estimate.verdict = verdict_of(estimate.memory, estimator_.job().machine.device.memory);
  return verdict_for(estimate, options_);
}

Estimate Ties::simplified(const Estimate& best, bool as_reserved) const {
  const Seconds most = best.time.step_time() * (1 + options_.tie);
  Estimate simple = best;
  Verdict worst = as_reserved ? verdict_as_reserved(simple) : verdict_for(best, options_);
  // A plan that can be started is not replaced by one that cannot.
  const bool starts = options_.is_startable && options_.is_startable(best);
  const auto takes = [&](const Plan& plan) {
    if (!estimator_.limits(plan).empty()) return false;
    Estimate estimate = estimator_.estimate(plan);
    if (!estimate.feasible() || estimate.time.step_time() > most || (starts && !options_.is_startable(estimate)))
      return false;
    const Verdict verdict = as_reserved ? verdict_as_reserved(estimate) : verdict_for(estimate, options_);
    if (verdict > worst) return false;
    worst = verdict;
    simple = std::move(estimate);
    return true;
  };
  const auto simplify_once = [&] {
    for (std::size_t i = plan_choice_count; i > 0; --i) {
      const PlanChoiceRow& row = plan_choices()[i - 1];
      for (const int value : space_.values_of(row, simple.plan)) {
        if (value >= row.get(simple.plan)) break;
        Plan plan = simple.plan;
        row.set(plan, value);
        // A choice that has an effect only with the replaced value is reset, too, unless the user chose it.
        for (const PlanChoiceRow& part : plan_choices()) {
          if (part.counts != nullptr && !part.counts(plan) && !options_.chosen[part.choice]) part.set(plan, 0);
        }
        if (space_.is_possible(plan, choices_of(plan)) && takes(plan)) break;
      }
    }
  };
  // After one choice is replaced, another may be unnecessary, such as recomputation without secondary shards.
  const auto simplify_choices = [&] {
    for (std::optional<Plan> before; before != simple.plan;) {
      before = simple.plan;
      simplify_once();
    }
  };
  simplify_choices();
  for (const std::int64_t count : space_.micro_batches(simple.plan)) {
    if (count >= simple.plan.micro_batches) break;
    Plan plan = simple.plan;
    plan.micro_batches = count;
    if (!space_.is_possible(plan, choices_of(plan)) || !takes(plan)) continue;
    // With fewer micro-batches, a plan with other choices may fit without recomputation.
    simplify_choices();
    break;
  }
  const Placement usual = options_.placement.value_or(Plan{}.placement);
  if (simple.plan.placement != usual) {
    Plan plan = simple.plan;
    plan.placement = usual;
    static_cast<void>(takes(plan));
  }
  return simple;
}

void Ties::settle(std::vector<Estimate>& best, std::size_t places) const {
  struct Tied {
    Estimate simple;
    Seconds fastest;                     ///< fastest time of the plan's family
    std::optional<bool> is_startable{};  ///< unset: not asked yet
  };
  const auto is_startable = [&](Tied& each) {
    if (!options_.is_startable) return true;
    if (!each.is_startable) each.is_startable = options_.is_startable(each.simple);
    return *each.is_startable;
  };
  // Smaller ranks first.
  const auto rank = [&](Tied& each) {
    const Family family = each.simple.plan.mesh.family();
    const bool is_short = splits_short_contexts(estimator_.job().facts, each.simple.plan);
    return std::tuple{is_startable(each) && !is_short ? 0 : 1, is_short ? 1 : 0, std::popcount(family),
                      family == family_bit(Axis::data) ? 0 : 1};
  };
  std::vector<Tied> all;
  for (std::size_t i = 0; i < best.size(); ++i)
    all.push_back({i < places ? simplified(best[i]) : best[i], best[i].time.step_time()});
  for (std::size_t place = 0; place < std::min(places, all.size()); ++place) {
    const Seconds most = all[place].fastest * (1 + options_.tie);
    std::size_t simplest = place;
    for (std::size_t i = place + 1; i < all.size(); ++i) {
      const Estimate& other = all[i].simple;
      if (verdict_for(other, options_) != verdict_for(all[place].simple, options_) || all[i].fastest > most) break;
      if (other.time.step_time() <= most && rank(all[i]) < rank(all[simplest])) simplest = i;
    }
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(place);
    const auto chosen = all.begin() + static_cast<std::ptrdiff_t>(simplest);
    std::rotate(first, chosen, chosen + 1);
  }
  std::map<Family, Estimate> fastest;
  for (const Estimate& each : best) fastest.emplace(each.plan.mesh.family(), each);
  for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::move(all[i].simple);
  if (options_.errors != nullptr && !best.empty()) prefer_known(best);
  if (!best.empty() && !options_.allow_risk) prefer_safe(fastest, best);
}

void Ties::prefer_safe(const std::map<Family, Estimate>& fastest, std::vector<Estimate>& best) const {
  std::optional<Estimate> of_first;
  for (auto each = best.begin(); each != best.end(); ++each) {
    if (verdict_for(*each, options_) != Verdict::fits) break;
    Estimate safe = *each;
    const Estimate& own = fastest.at(each->plan.mesh.family());
    if (verdict_as_reserved(safe) != Verdict::fits) safe = simplified(own, true);
    if (safe.verdict != Verdict::fits) {
      if (each == best.begin()) of_first = smaller(*each);
      continue;
    }
    if (of_first && of_first->time.step_time() < safe.time.step_time()) break;
    *each = std::move(safe);
    std::rotate(best.begin(), each, each + 1);
    return;
  }
  if (of_first) best.front() = *std::move(of_first);
}

std::optional<Estimate> Ties::smaller(const Estimate& large) const {
  std::vector<Plan> plans;
  for (const std::int64_t count : space_.micro_batches(large.plan)) {
    if (count <= large.plan.micro_batches) continue;
    plans.push_back(large.plan);
    plans.back().micro_batches = count;
  }
  const PlanChoiceRow& recompute = row_of(PlanChoice::recompute);
  for (const int value : space_.values_of(recompute, large.plan)) {
    if (value <= recompute.get(large.plan)) continue;
    plans.push_back(large.plan);
    recompute.set(plans.back(), value);
  }
  const bool starts = options_.is_startable && options_.is_startable(large);
  std::optional<Estimate> best;
  for (const Plan& plan : plans) {
    if (!space_.is_possible(plan, choices_of(plan)) || !estimator_.limits(plan).empty()) continue;
    Estimate estimate = estimator_.estimate(plan);
    if (!estimate.feasible() || (best && estimate.time.step_time() >= best->time.step_time())) continue;
    if (starts && !options_.is_startable(estimate)) continue;
    if (verdict_as_reserved(estimate) == Verdict::fits) best = std::move(estimate);
  }
  return best;
}

void Ties::prefer_known(std::vector<Estimate>& best) const {
  const LearnedFamilies& families = estimator_.job().coefficients.learned;
  const auto has_runs = [&](const Estimate& each) { return is_known(families, each.plan.mesh.family()); };
  if (!estimator_.job().assumptions.learned || families.empty() || has_runs(best.front())) return;
  for (auto other = best.begin() + 1; other != best.end(); ++other) {
    if (verdict_for(*other, options_) != verdict_for(best.front(), options_)) return;
    if (!has_runs(*other)) continue;
    if (is_surer(*other, best.front())) std::rotate(best.begin(), other, other + 1);
    return;
  }
}

bool Ties::is_surer(const Estimate& slower, const Estimate& faster) const {
  const TimeErrors& errors = *options_.errors;
  const Seconds slower_time = slower.time.step_time(), faster_time = faster.time.step_time();
  const TimeSensitivity of_slower = sensitivity(estimator_, slower.plan), of_faster = sensitivity(estimator_, faster.plan);
  const bool may_be_faster = slower_time / faster_time * ratio_interval_of(errors, of_faster, of_slower).low <= 1;
  return may_be_faster &&
         slower_time * interval_of(errors, of_slower).high <= faster_time * interval_of(errors, of_faster).high;
}

}  // namespace ddl
