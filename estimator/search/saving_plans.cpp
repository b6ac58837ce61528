#include "estimator/search/saving_plans.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/search/memory_bounds.hpp"

namespace ddl {
namespace {

constexpr std::array shardings{PlanChoice::zero, PlanChoice::shard_group, PlanChoice::reshard, PlanChoice::secondary_shards,
                               PlanChoice::offload};
constexpr std::array pipelines{PlanChoice::schedule, PlanChoice::virtual_stages};

int& value(ChoiceValues& values, PlanChoice choice) { return values[static_cast<std::size_t>(choice)]; }

/// Returns the different combinations of values of `parts` among `choices`, with the first values of all other choices.
LikeChoices combinations(const LikeChoices& choices, std::span<const PlanChoice> parts) {
  LikeChoices found;
  for (const ChoiceValues& values : choices) {
    ChoiceValues own = choices.front();
    for (const PlanChoice part : parts) own[static_cast<std::size_t>(part)] = values[static_cast<std::size_t>(part)];
    if (found.empty() || (own != found.back() && std::find(found.begin(), found.end(), own) == found.end()))
      found.push_back(own);
  }
  return found;
}

Recompute recompute_of(const ChoiceValues& values) {
  return static_cast<Recompute>(values[static_cast<std::size_t>(PlanChoice::recompute)]);
}

bool any_has(const LikeChoices& choices, PlanChoice choice) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const ChoiceValues& each) { return each[static_cast<std::size_t>(choice)] > 0; });
}

/// Decides for the plans of one group. Each method takes the values of the choices that it varies.
class SavingPlans {
 public:
  SavingPlans(const Estimator& estimator, const TimeBounds& bounds, const VariantSpace& space, const LikePlans& plans,
              Bytes limit, const std::function<bool(Seconds)>& is_too_long)
      : estimator_(estimator),
        bounds_(bounds),
        space_(space),
        choices_(plans.choices),
        plan_(plans.plan),
        limit_(limit),
        is_too_long_(is_too_long) {
    for (const ChoiceValues& each : choices_.ways) {
      set_choices(plan_, each);
      // Shards add up to the whole except for rounding.
      constexpr double rounding = 1 - 1e-9;
      if (parameters_lower_bound(estimator_.job(), plan_) * rounding <= limit_) ways_.push_back(each);
    }
  }

  [[nodiscard]] bool are_slow() {
    if (ways_.empty()) return false;
    // Without savings, no plan is slower than by its layers alone.
    const auto shards = [](const ChoiceValues& way) { return way[static_cast<std::size_t>(PlanChoice::zero)] > 0; };
    if (!std::all_of(ways_.begin(), ways_.end(), shards) && !must_recompute()) return false;
    if (must_recompute() && recomputation_is_slow()) return true;
    for (const ChoiceValues& order : choices_.orders) {
      if (takes_too_long(order, Recompute::none) || (must_recompute() && is_slow_if_it_recomputes(order))) continue;
      leave_out_full_ways();
      if (ways_.empty()) return true;
      for (const ChoiceValues& way : ways_) {
        if (!is_slow_if_it_fits(way, order)) return false;
      }
    }
    return true;
  }

 private:
  void set(const ChoiceValues& way, const ChoiceValues& order, Recompute recompute, int blocks) {
    ChoiceValues values = choices_.first;
    for (const PlanChoice part : shardings) value(values, part) = way[static_cast<std::size_t>(part)];
    for (const PlanChoice part : pipelines) value(values, part) = order[static_cast<std::size_t>(part)];
    set_choices(plan_, values);
    plan_.recompute = recompute;
    plan_.recompute_blocks = blocks;
  }

  /// Returns whether plans take too long with any way to shard parameters.
  [[nodiscard]] bool takes_too_long(const ChoiceValues& order, Recompute recompute, int blocks = 0) {
    set(ChoiceValues{}, order, recompute, blocks);
    return is_too_long_(bounds_.of_step(plan_));
  }

  /// Returns whether plans keep too many activations with any way to shard parameters, and therefore with any schedule: 1F1B
  /// without virtual stages keeps least.
  [[nodiscard]] bool all_keep_too_much(Recompute recompute, int blocks = 0) {
    // The last ways save most memory.
    return std::all_of(ways_.rbegin(), ways_.rend(), [&](const ChoiceValues& way) {
      set(way, ChoiceValues{}, recompute, blocks);
      return keeps_more_than(estimator_, plan_, limit_);
    });
  }

  [[nodiscard]] bool must_recompute() {
    if (!must_recompute_) must_recompute_ = !choices_.moves && all_keep_too_much(Recompute::none);
    return *must_recompute_;
  }

  /// Returns whether plans keep too many activations with this kind of recomputation.
  [[nodiscard]] bool keeps_too_much(Recompute kind) {
    std::optional<bool>& known = kept_too_much_[static_cast<std::size_t>(kind)];
    if (!known) known = all_keep_too_much(kind);
    return *known;
  }

  /// Leaves out ways to shard parameters with which plans keep too many activations, whatever they recompute.
  void leave_out_full_ways() {
    if (has_left_out_ || choices_.moves) return;
    has_left_out_ = true;
    std::erase_if(ways_, [&](const ChoiceValues& way) {
      const auto keeps_too_much = [&](Recompute kind) {
        set(way, ChoiceValues{}, kind, 0);
        return keeps_more_than(estimator_, plan_, limit_);
      };
      if (space_.may_recompute_blocks(choices_.first) && !keeps_too_much(Recompute::full)) return false;
      return std::all_of(choices_.kinds.begin(), choices_.kinds.end(),
                         [&](const ChoiceValues& each) { return keeps_too_much(recompute_of(each)); });
    });
  }

  /// Returns the smallest number of recomputed blocks of a stage with which some plan may fit; one more than the largest
  /// number if there is none.
  [[nodiscard]] int least_blocks() {
    if (least_blocks_) return *least_blocks_;
    set(ways_.front(), ChoiceValues{}, Recompute::full, 1);
    int few = 0, enough = estimator_.steps().most_blocks_again(plan_) + 1;
    while (enough - few > 1) {
      const int middle = few + (enough - few) / 2;
      (all_keep_too_much(Recompute::full, middle) ? few : enough) = middle;
    }
    least_blocks_ = enough;
    return enough;
  }

  /// Returns whether plans that recompute something take too long in any order.
  [[nodiscard]] bool recomputation_is_slow() {
    const auto is_slow = [&](Recompute kind, int blocks) {
      set(ChoiceValues{}, ChoiceValues{}, kind, blocks);
      return is_too_long_(bounds_.of_orders(plan_));
    };
    const bool may_recompute_blocks = space_.may_recompute_blocks(choices_.first);
    const bool are_blocks_slow = may_recompute_blocks && is_slow(Recompute::full, 1);
    for (const ChoiceValues& each : choices_.kinds) {
      const Recompute kind = recompute_of(each);
      if (kind == Recompute::none || (kind == Recompute::full && are_blocks_slow)) continue;
      if (!keeps_too_much(kind) && !is_slow(kind, 0)) return false;
    }
    return are_blocks_slow || !may_recompute_blocks || is_slow(Recompute::full, least_blocks());
  }

  /// Returns whether plans of this schedule, all of which must recompute something, take too long.
  [[nodiscard]] bool is_slow_if_it_recomputes(const ChoiceValues& order) {
    for (const ChoiceValues& each : choices_.kinds) {
      const Recompute kind = recompute_of(each);
      if (kind != Recompute::none && !keeps_too_much(kind) && !takes_too_long(order, kind)) return false;
    }
    if (!space_.may_recompute_blocks(choices_.first)) return true;
    if (!least_blocks_ && takes_too_long(order, Recompute::full, 1)) return true;
    // Of a stage with several chunks, each chunk recomputes the plan's number of blocks.
    set(ChoiceValues{}, order, Recompute::full, 1);
    const auto chunks = static_cast<int>(most_recomputed_blocks(plan_));
    const int blocks = (least_blocks() + chunks - 1) / chunks;
    return takes_too_long(order, Recompute::full, blocks);
  }

  /// Returns whether plans that shard parameters in one way, with one schedule, take too long if they may fit.
  [[nodiscard]] bool is_slow_if_it_fits(const ChoiceValues& way, const ChoiceValues& order) {
    const auto is_slow = [&](Recompute recompute, int blocks) {
      set(way, order, recompute, blocks);
      // Plans that recompute more take at least as long, except for rounding.
      constexpr double rounding = 1 - 1e-11;
      return is_too_long_(estimator_.step_time(plan_) * rounding);
    };
    const auto keeps_too_much = [&](Recompute recompute, int blocks) {
      set(way, order, recompute, blocks);
      return keeps_more_than(estimator_, plan_, limit_);
    };
    // If plans must recompute, only their times with recomputation decide.
    if (!must_recompute_.value_or(false) && is_slow(Recompute::none, 0)) return true;
    if (choices_.moves || !keeps_too_much(Recompute::none, 0)) return false;
    for (const ChoiceValues& each : choices_.kinds) {
      const Recompute kind = recompute_of(each);
      if (kind != Recompute::none && !keeps_too_much(kind, 0) && !is_slow(kind, 0)) return false;
    }
    if (!space_.may_recompute_blocks(choices_.first)) return true;
    const int most = estimator_.steps().most_blocks_again(plan_);
    if (most == 0 || is_slow(Recompute::full, 1)) return true;
    int few = 0, enough = most + 1;
    while (enough - few > 1) {
      const int middle = few + (enough - few) / 2;
      (keeps_too_much(Recompute::full, middle) ? few : enough) = middle;
    }
    return enough > most || (enough > 1 && is_slow(Recompute::full, enough));
  }

  const Estimator& estimator_;
  const TimeBounds& bounds_;
  const VariantSpace& space_;
  const SavingChoices& choices_;
  Plan plan_;
  Bytes limit_;
  const std::function<bool(Seconds)>& is_too_long_;
  LikeChoices ways_;  ///< ways to shard parameters with which parameters may fit
  std::optional<bool> must_recompute_;
  std::array<std::optional<bool>, enum_count<Recompute>()> kept_too_much_;
  bool has_left_out_ = false;
  std::optional<int> least_blocks_;
};

}  // namespace

SavingChoices::SavingChoices(const LikeChoices& choices) : first(choices.front()), orders(combinations(choices, pipelines)) {
  constexpr std::array recomputing{PlanChoice::recompute};
  kinds = combinations(choices, recomputing);
  value(first, PlanChoice::recompute) = 0;
  ways = combinations(choices, shardings);
  moves = any_has(choices, PlanChoice::offload_activations) || any_has(choices, PlanChoice::recompute_blocks);
}

bool all_that_fit_are_slow(const Estimator& estimator, const TimeBounds& bounds, const VariantSpace& space,
                           const LikePlans& plans, Bytes limit, const std::function<bool(Seconds)>& is_too_long) {
  return SavingPlans(estimator, bounds, space, plans, limit, is_too_long).are_slow();
}

}  // namespace ddl
