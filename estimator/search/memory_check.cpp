#include "estimator/search/memory_check.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "estimator/search/memory_bounds.hpp"
#include "estimator/search/search.hpp"

namespace ddl {
namespace {

constexpr std::int64_t most_batch = std::int64_t{1} << 40;
constexpr std::int64_t most_counted_devices = 64;
constexpr std::int64_t most_devices_tried = std::int64_t{1} << 20;

Bytes available(const Estimator& estimator) { return estimator.job().machine.device.memory; }

bool is_possible(const Estimate& estimate) {
  return std::all_of(estimate.limits.begin(), estimate.limits.end(),
                     [](const Limit& limit) { return limit.kind == Limit::Kind::memory; });
}

std::optional<Estimate> possible(const Estimator& estimator, const Plan& plan) {
  Estimate estimate = estimator.estimate(plan);
  if (!is_possible(estimate)) return std::nullopt;
  return estimate;
}

MemoryCheck check_of(const Estimator& estimator, Estimate estimate) {
  add_reserved(estimator, estimate);
  const Verdict verdict = verdict_of(estimate.memory, available(estimator));
  return {std::move(estimate), verdict};
}

/// Returns the check of a plan that fits or is at risk; empty if the plan does not fit, or is impossible.
std::optional<MemoryCheck> check_if_feasible(const Estimator& estimator, const Plan& plan) {
  std::optional<Estimate> estimate = possible(estimator, plan);
  if (!estimate || !estimate->feasible()) return std::nullopt;
  return check_of(estimator, *std::move(estimate));
}

bool is_faster(const MemoryCheck& a, const MemoryCheck& b) {
  return a.estimate.time.step_time() < b.estimate.time.step_time();
}

/// Returns the largest `k` up to `most` with `holds(k)`; 0 if there is none. `holds` must be true
/// up to some number, and false for all larger numbers.
template <class Holds>
std::int64_t last_that(std::int64_t most, const Holds& holds) {
  std::int64_t low = 0, high = 1;
  while (high <= most && holds(high)) {
    low = high;
    if (high > most / 2) {
      high = most + 1;
      break;
    }
    high *= 2;
  }
  high = std::min(high, most + 1);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

/// A degree of a plan that is varied, and its largest value.
struct VariedDegree {
  int* degree = nullptr;
  int most = std::numeric_limits<int>::max();
};

/// Returns the degrees of a plan that are above one, or, if no degree is above one, the degree of `data`.
std::vector<VariedDegree> divided(Plan& plan) {
  std::vector<VariedDegree> degrees;
  for (int& each : plan.mesh.degrees()) {
    if (each > 1) degrees.push_back({&each});
  }
  if (degrees.empty()) degrees.push_back({&plan.mesh.degrees()[first_dimension_of(Axis::data)]});
  return degrees;
}

/// Returns the degrees of a plan that are above one, which must not grow, and last the degree of `data`, which may grow.
std::vector<VariedDegree> split_as_before(Plan& plan) {
  std::vector<VariedDegree> degrees;
  int* const data = &plan.mesh.degrees()[first_dimension_of(Axis::data)];
  for (int& each : plan.mesh.degrees()) {
    if (each > 1 && &each != data) degrees.push_back({&each, each});
  }
  degrees.push_back({data});
  return degrees;
}

/// Calls `visit` once for each way of writing `left` as the product of the degrees from `at` on.
template <class Visit>
void each_product(const std::vector<VariedDegree>& degrees, std::size_t at, std::int64_t left, const Visit& visit) {
  if (at + 1 == degrees.size()) {
    if (left > degrees[at].most) return;
    *degrees[at].degree = static_cast<int>(left);
    visit();
    return;
  }
  for (std::int64_t factor = 1; factor <= std::min<std::int64_t>(left, degrees[at].most); ++factor) {
    if (left % factor != 0) continue;
    *degrees[at].degree = static_cast<int>(factor);
    each_product(degrees, at + 1, left / factor, visit);
  }
}

/// The plans that differ from a given plan in choices that cost time and save memory, in the order of their time.
class Choices {
 public:
  Choices(const Estimator& estimator, const MemoryCheck& from, const AdmittedChoices& admitted, const GoOn& go_on)
      : estimator_(estimator),
        from_(from),
        admitted_(admitted),
        go_on_(go_on),
        wanted_(from.verdict == Verdict::does_not_fit) {
    const Plan& plan = from.estimate.plan;
    const std::int64_t share = plan.global_batch / plan.mesh.batch_parts();
    for (std::int64_t count = plan.micro_batches; count <= share;) {
      micro_batches_.push_back(count);
      // The last number of micro-batches is the one with one sample per micro-batch.
      count = count < share && count > share / 2 ? share : count * 2;
    }
  }

  [[nodiscard]] std::optional<MemoryCheck> smaller_micro_batches() const {
    constexpr std::int64_t most_tried = std::int64_t{1} << 16;
    std::vector<Plan> plans;
    Plan plan = from_.estimate.plan;
    const std::int64_t share = plan.global_batch / plan.mesh.batch_parts(), own = plan.micro_batches;
    for (std::int64_t count = own + 1; count <= std::min(share, own + most_tried); ++count) {
      const bool is_usual = std::find(micro_batches_.begin(), micro_batches_.end(), count) != micro_batches_.end();
      if (share % count != 0 && !is_usual) continue;
      plan.micro_batches = count;
      plans.push_back(plan);
    }
    for (const std::int64_t count : micro_batches_) {
      if (count <= own + most_tried) continue;
      plan.micro_batches = count;
      plans.push_back(plan);
    }
    return first_of(plans);
  }

  /// Returns the first plan that fits among the plans with later values of a choice, which may save memory.
  [[nodiscard]] std::optional<MemoryCheck> chosen(const PlanChoiceRow& row) const {
    std::vector<Plan> plans;
    Plan plan = from_.estimate.plan;
    for (int value = row.get(plan) + 1; value <= last_of(row); ++value) {
      if (!is_admitted(row, value)) continue;
      row.set(plan, value);
      plans.push_back(plan);
    }
    return first_of(plans);
  }

  /// Returns the fastest plan that fits among all combinations of choices.
  [[nodiscard]] std::optional<MemoryCheck> combined() const {
    std::vector<Estimate> estimates;
    const Plan& from = from_.estimate.plan;
    for (const std::int64_t count : micro_batches_) {
      Plan plan = from;
      plan.micro_batches = count;
      each_combination(plan, plan_choice_count, [&] {
        if (go_on_ && !go_on_()) return;
        std::optional<Estimate> estimate = possible(estimator_, plan);
        if (estimate && estimate->feasible()) estimates.push_back(*std::move(estimate));
      });
    }
    std::stable_sort(estimates.begin(), estimates.end(),
                     [](const Estimate& a, const Estimate& b) { return a.time.step_time() < b.time.step_time(); });
    std::optional<MemoryCheck> risky;
    for (const Estimate& each : estimates) {
      MemoryCheck checked = check_of(estimator_, each);
      if (checked.verdict == Verdict::fits) return checked;
      if (wanted_ && !risky) risky = std::move(checked);
    }
    return risky;
  }

 private:
  /// Returns the last value of a choice to try, which is the plan's own value if no other value can save memory.
  [[nodiscard]] int last_of(const PlanChoiceRow& row) const {
    const Plan& plan = from_.estimate.plan;
    // The values of a choice that a search does not try are not ordered by the memory that they save.
    if (!row.is_searched) return row.get(plan);
    const bool is_there = !row.needs_host || estimator_.job().machine.host.has_value();
    return row.trade != Trade::first_is_smallest && row.matters(plan.mesh) && is_there ? row.last : row.get(plan);
  }

  [[nodiscard]] bool is_admitted(const PlanChoiceRow& row, int value) const {
    const std::optional<std::vector<int>>& known = admitted_[static_cast<std::size_t>(row.choice)];
    return !known || std::find(known->begin(), known->end(), value) != known->end();
  }

  /// Calls `visit` with every combination of values of the first `rows` choices, starting from the plan's own values.
  template <class Visit>
  void each_combination(Plan& plan, std::size_t rows, const Visit& visit) const {
    if (rows == 0) {
      visit();
      return;
    }
    const PlanChoiceRow& row = plan_choices()[rows - 1];
    for (int value = row.get(from_.estimate.plan); value <= last_of(row); ++value) {
      if (value != row.get(from_.estimate.plan) && !is_admitted(row, value)) continue;
      row.set(plan, value);
      each_combination(plan, rows - 1, visit);
    }
  }

  [[nodiscard]] std::optional<MemoryCheck> first_of(const std::vector<Plan>& plans) const {
    std::optional<MemoryCheck> risky;
    for (const Plan& plan : plans) {
      if (go_on_ && !go_on_()) return risky;
      std::optional<MemoryCheck> checked = check_if_feasible(estimator_, plan);
      if (!checked) continue;
      if (checked->verdict == Verdict::fits) return checked;
      if (wanted_ && !risky) risky = std::move(checked);
    }
    return risky;
  }

  const Estimator& estimator_;
  const MemoryCheck& from_;
  const AdmittedChoices& admitted_;
  const GoOn& go_on_;
  bool wanted_;  ///< whether plans at risk are accepted
  std::vector<std::int64_t> micro_batches_;
};

/// Returns the fastest plan of any strategy.
std::optional<MemoryCheck> other_strategy(const Estimator& estimator, const MemoryCheck& from,
                                          const AdmittedChoices& admitted, const GoOn& go_on) {
  const Plan& plan = from.estimate.plan;
  SearchOptions options;
  options.devices = plan.mesh.devices();
  options.global_batch = plan.global_batch;
  options.precision = plan.precision;
  options.optimizer = plan.optimizer;
  options.top = 1;
  options.tie = usual_tie;
  options.finds_nearest = false;
  options.admitted = admitted;
  if (go_on) options.go_on = [&](std::int64_t, std::int64_t) { return go_on(); };
  // The search ranks plans that fit before plans at risk.
  const SearchResult result = search(estimator, options);
  if (result.best.empty()) return std::nullopt;
  MemoryCheck found = check_of(estimator, result.best.front());
  if (found.verdict == Verdict::fits || from.verdict == Verdict::does_not_fit) return found;
  return std::nullopt;
}

}  // namespace

std::optional<MemoryCheck> check_memory(const Estimator& estimator, const Plan& plan) {
  std::optional<Estimate> estimate = possible(estimator, plan);
  if (!estimate) return std::nullopt;
  return check_of(estimator, *std::move(estimate));
}

LargestBatch largest_batch(const Estimator& estimator, const Plan& plan) {
  const std::int64_t unit = plan.mesh.batch_parts() * plan.micro_batches;
  const auto is = [&](std::int64_t count, Verdict worst) {
    Plan larger = plan;
    larger.global_batch = unit * count;
    const std::optional<MemoryCheck> checked = check_if_feasible(estimator, larger);
    return checked && checked->verdict <= worst;
  };
  const std::int64_t expected =
      last_that(most_batch / unit, [&](std::int64_t count) { return is(count, Verdict::at_risk); });
  LargestBatch largest;
  if (expected == 0) return largest;
  largest.at_risk = unit * expected;
  const std::int64_t sure = last_that(expected, [&](std::int64_t count) { return is(count, Verdict::fits); });
  if (sure > 0) largest.fits = unit * sure;
  return largest;
}

namespace {

/// Returns the number of micro-batches for a plan's work on other devices: at least the plan's number, and enough that no
/// micro-batch has more samples than a micro-batch of the plan. If a close number divides the samples of a replica, this
/// number is used.
std::int64_t micro_batches_on(const Plan& plan, const Plan& other) {
  constexpr std::int64_t most_tried = 4096;
  const auto divided_up = [](std::int64_t all, std::int64_t by) { return (all + by - 1) / by; };
  const std::int64_t samples =
      std::max<std::int64_t>(divided_up(plan.global_batch, plan.mesh.batch_parts() * plan.micro_batches), 1);
  const std::int64_t share = std::max<std::int64_t>(other.global_batch / other.mesh.batch_parts(), 1);
  const std::int64_t least = std::min(std::max(divided_up(share, samples), plan.micro_batches), share);
  for (std::int64_t count = least; count <= std::min(share, least + most_tried); ++count) {
    if (share % count == 0) return count;
  }
  return least;
}

/// fewest_devices for the given degrees of `tried`, which is a copy of `plan`.
std::optional<MemoryCheck> fewest_with(const std::vector<VariedDegree>& degrees, Plan& tried, const Estimator& estimator,
                                       const Plan& plan, BatchKept kept, const GoOn& go_on) {
  const std::int64_t per_device = plan.global_batch / plan.mesh.devices();
  // Replicas with different numbers of samples are proposed only if the plan has them.
  const bool is_even = plan.global_batch % plan.mesh.batch_parts() == 0;
  const std::int64_t most = std::min(estimator.job().machine.devices(), most_devices_tried);
  std::optional<MemoryCheck> risky;
  for (std::int64_t count = 1; count <= most; count = count < most_counted_devices ? count + 1 : count * 2) {
    std::optional<MemoryCheck> best;
    if (kept == BatchKept::per_device) tried.global_batch = per_device * count;
    if (go_on && !go_on()) return risky;
    each_product(degrees, 0, count, [&] {
      if (is_even && tried.global_batch % tried.mesh.batch_parts() != 0) return;
      tried.micro_batches = micro_batches_on(plan, tried);
      if (!estimator.limits(tried).empty() || memory_lower_bound(estimator.job(), tried) > available(estimator)) return;
      std::optional<MemoryCheck> checked = check_if_feasible(estimator, tried);
      if (!checked) return;
      const bool surer = best && checked->verdict < best->verdict;
      if (!best || surer || (checked->verdict == best->verdict && is_faster(*checked, *best))) best = std::move(checked);
    });
    if (!best) continue;
    if (best->verdict == Verdict::fits) return best;
    if (!risky) risky = std::move(best);
  }
  return risky;
}

}  // namespace

std::optional<MemoryCheck> fewest_devices(const Estimator& estimator, const Plan& plan, BatchKept kept, const GoOn& go_on) {
  Plan tried = plan;
  std::optional<MemoryCheck> first = fewest_with(split_as_before(tried), tried, estimator, plan, kept, go_on);
  if (first && first->verdict == Verdict::fits) return first;
  tried = plan;
  std::optional<MemoryCheck> second = fewest_with(divided(tried), tried, estimator, plan, kept, go_on);
  const bool is_second = second && (!first || second->verdict == Verdict::fits);
  return is_second ? second : first;
}

std::vector<Remedy> remedies(const Estimator& estimator, const MemoryCheck& checked, const AdmittedChoices& admitted,
                             const GoOn& go_on) {
  std::vector<Remedy> found;
  if (checked.verdict == Verdict::fits) return found;
  const auto add = [&](Remedy::Kind kind, std::optional<MemoryCheck> other, std::optional<PlanChoice> choice = {}) {
    if (other) found.push_back({kind, choice, *std::move(other)});
  };
  const auto goes_on = [&] { return !go_on || go_on(); };
  const Choices choices(estimator, checked, admitted, go_on);
  add(Remedy::Kind::micro_batches, choices.smaller_micro_batches());
  for (std::size_t i = plan_choice_count; i > 0; --i) {
    const PlanChoiceRow& row = plan_choices()[i - 1];
    add(Remedy::Kind::choice, choices.chosen(row), row.choice);
  }
  const auto fits = [](const Remedy& each) { return each.checked.verdict == Verdict::fits; };
  if (goes_on() && std::none_of(found.begin(), found.end(), fits)) add(Remedy::Kind::together, choices.combined());
  if (goes_on()) add(Remedy::Kind::strategy, other_strategy(estimator, checked, admitted, go_on));
  // Remedies that fit come before remedies at risk. A plan that is found as two types of remedies is listed once.
  std::stable_sort(found.begin(), found.end(), [](const Remedy& a, const Remedy& b) {
    if (a.checked.verdict != b.checked.verdict) return a.checked.verdict < b.checked.verdict;
    return is_faster(a.checked, b.checked);
  });
  std::vector<Remedy> different;
  for (Remedy& each : found) {
    const auto same = [&](const Remedy& other) { return other.checked.estimate.plan == each.checked.estimate.plan; };
    const auto known = std::find_if(different.begin(), different.end(), same);
    if (known == different.end()) {
      different.push_back(std::move(each));
    } else if (each.kind < known->kind) {
      known->kind = each.kind;
      known->choice = each.choice;
    }
  }
  return different;
}

}  // namespace ddl
