#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/latest_values.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

/// Sizes of shard groups, smallest first; zeros follow the last one.
using GroupSizes = std::array<int, 3>;
/// Returns the sizes of shard groups that a search tries with ZeRO-3: the devices of a node, and the data-parallel ranks
/// inside a larger unit of the network, such as a site. Such a unit counts if links between units have at most half the
/// bandwidth of links inside a unit.
[[nodiscard]] GroupSizes searched_groups(const Machine& machine, const Mesh& mesh);

/// A value for each choice.
using ChoiceValues = std::array<int, plan_choice_count>;
void set_choices(Plan& plan, const ChoiceValues& values);
[[nodiscard]] ChoiceValues choices_of(const Plan& plan);

/// Combinations of choices for plans that divide layers in the same way, simplest first.
using LikeChoices = std::vector<ChoiceValues>;

/// Returns plans with the degrees of `plan`, one for each possible way to divide layers.
[[nodiscard]] std::vector<Plan> ways_to_divide(const ModelFacts& facts, const Plan& plan);

/// The micro-batches, placements and other choices that plans of a search may have in addition to their degrees.
class VariantSpace {
 public:
  VariantSpace(const SearchOptions& options, const ModelFacts& facts, const Machine& machine);

  [[nodiscard]] const std::vector<std::int64_t>& micro_batches(const Plan& plan) const;

  [[nodiscard]] std::vector<Placement> placements(const Plan& plan) const;

  /// Returns the choices that a plan of this mesh with these micro-batches may have. Each group
  /// contains choices that divide layers in the same way.
  [[nodiscard]] const std::vector<LikeChoices>& choices(const Plan& plan) const;

  /// Returns whether a plan with these choices, which recomputes nothing, also represents plans that recompute some blocks.
  /// The number of blocks is not part of the choices, because for each plan the smallest number that fits is the best.
  [[nodiscard]] bool may_recompute_blocks(const ChoiceValues& values) const;

  /// Returns the number of variants without creating them. Partial recomputation is one variant, for all numbers of blocks.
  [[nodiscard]] std::int64_t count(const Plan& plan) const;

  /// Returns the values of a choice that a plan with this mesh may have, simplest first. A requested value is always
  /// included. If the requested value is impossible, the plan is rejected with a limit.
  [[nodiscard]] std::vector<int> values_of(const PlanChoiceRow& row, const Plan& plan) const;

  /// Returns whether some values of a choice are possible only if other choices do not have their first values. Examples are
  /// the shard groups of ZeRO-3, and unsplit experts, which need sequence parallelism.
  [[nodiscard]] static bool depends_on_others(PlanChoice choice);

  /// Returns whether the values of choices that the user has not made are possible together.
  [[nodiscard]] bool is_possible(const Plan& plan, const ChoiceValues& values) const;

 private:
  /// Returns the values that the software supports. If the software supports no value in `values`,
  /// all values are returned, because the user has then requested one of them by another option.
  [[nodiscard]] std::vector<int> admitted(const PlanChoiceRow& row, std::vector<int> values) const;
  /// Returns whether a tensor split may leave experts whole, if sequence parallelism is used.
  [[nodiscard]] bool supports_etp1(Plan plan) const;
  /// Returns whether the values of a plan's choices that the user has not made are possible together. `values`: these
  /// values.
  [[nodiscard]] bool are_possible(const Plan& chosen, const ChoiceValues& values) const;
  using ValuesOfRows = std::array<std::vector<int>, plan_choice_count>;
  /// Returns the values of a row that are possible with some values of the other choices.
  [[nodiscard]] std::vector<int> possible_values(std::size_t row, const Plan& plan) const;
  static constexpr std::size_t of_pipelines = 2;  ///< the number of rows that choose schedule and virtual stages
  /// Returns the schedules and numbers of virtual stages that are possible together, with the first values of other choices.
  [[nodiscard]] LikeChoices possible_pipelines(const Plan& plan, const ValuesOfRows& of_rows) const;
  /// Adds every possible combination of the first `rows` choices; the last choice is outermost. `plan` has the values of the
  /// other choices. `pipelines`: the result of possible_pipelines().
  void add_choices(Plan& plan, const ValuesOfRows& of_rows, const LikeChoices& pipelines, std::size_t rows,
                   ChoiceValues values, LikeChoices& choices) const;
  /// The properties of a plan that its possible choices depend on. They are the family, and the degrees that must divide
  /// something for some choices. In addition, the key has several conditions: whether the stages divide the micro-batches,
  /// whether there are enough micro-batches and an even number of them, the sizes of shard groups, and whether tokens can be
  /// split, heads exchanged, and unsplit experts distributed, and in how many ways tables can be distributed.
  using Key = std::tuple<Family, int, int, bool, std::int64_t, GroupSizes, bool, bool, bool, int>;
  [[nodiscard]] Key key_of(const Plan& plan) const;
  /// Returns the largest number of samples of the batch that a rank processes.
  [[nodiscard]] static std::int64_t replica_of(const Plan& plan);
  /// Returns the choices of choices(), not in groups.
  [[nodiscard]] LikeChoices all_choices(const Plan& plan) const;
  /// Returns the number of choices(), without keeping them: most counted plans have an impossible shape. Partial
  /// recomputation counts as one more choice.
  [[nodiscard]] std::int64_t count_choices(const Plan& plan) const;
  /// Returns count() for one placement.
  [[nodiscard]] std::int64_t count_of_one_placement(const Plan& plan) const;
  const SearchOptions& options_;
  const ModelFacts& facts_;
  const Machine& machine_;
  bool several_nodes_;
  bool chooses_blocks_;  ///< whether the search chooses recomputed blocks
  mutable std::map<std::int64_t, std::vector<std::int64_t>> micro_batches_;
  mutable std::map<Key, std::vector<LikeChoices>> choices_;
  /// The number of plans of one placement, plus one, keyed by a rank's samples of the batch and by the key of the choices.
  mutable std::map<std::pair<std::int64_t, Key>, std::int64_t> counts_;
  mutable std::map<Key, std::int64_t> choice_counts_;  ///< results of count_choices()
  /// Numbers of choices with one schedule and one number of virtual stages, keyed by the key of the choices without the
  /// numbers of tensor shards, stages and micro-batches.
  mutable std::map<std::tuple<Family, GroupSizes, bool, bool, bool, int>, std::int64_t> other_counts_;
  /// The latest results of count(), keyed by the family, the degrees that the choices depend on, and the batches.
  mutable LatestValues<std::int64_t, 8> latest_counts_;
};

}  // namespace ddl
