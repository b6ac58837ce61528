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
#include "estimator/plan/plan.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

/// A value of each choice.
using ChoiceValues = std::array<int, plan_choice_count>;
void set_choices(Plan& plan, const ChoiceValues& values);
[[nodiscard]] ChoiceValues choices_of(const Plan& plan);

/// Choices of plans that divide layers in the same way, the simplest first.
using LikeChoices = std::vector<ChoiceValues>;

/// The micro-batches, placements and other choices that plans of a search may have, in addition to their degrees.
class VariantSpace {
 public:
  VariantSpace(const SearchOptions& options, const ModelFacts& facts, int devices_per_node);

  [[nodiscard]] const std::vector<std::int64_t>& micro_batches(const Plan& plan) const;

  [[nodiscard]] std::vector<Placement> placements(const Plan& plan) const;

  /// The choices that a plan of this mesh and with these micro-batches may have, by how they divide layers.
  [[nodiscard]] const std::vector<LikeChoices>& choices(const Plan& plan) const;

  /// Whether a plan with these choices, which computes nothing again, stands for plans that compute some blocks again, too.
  /// How many blocks is no choice of these: the fewest that help are the best of each plan.
  [[nodiscard]] bool may_recompute_blocks(const ChoiceValues& values) const;

  /// How many there are, without making them. Partial recomputation counts once, whatever the number of blocks.
  [[nodiscard]] std::int64_t count(const Plan& plan) const;

  /// The values of a choice that a plan of such a mesh may have, the simplest first. One that was asked for is among them,
  /// possible or not: the plan then has a limit.
  [[nodiscard]] std::vector<int> values_of(const PlanChoiceRow& row, const Plan& plan) const;

  /// Whether values of a choice may be possible with others than the first values of all other choices: how ZeRO-3 shards,
  /// and experts that need sequence parallelism.
  [[nodiscard]] static bool depends_on_others(PlanChoice choice);

  /// Whether the values of open choices are possible together.
  [[nodiscard]] bool is_possible(const Plan& plan, const ChoiceValues& values) const;

 private:
  /// Those that the software can run; all where it can run none, which was asked for in other words then.
  [[nodiscard]] std::vector<int> admitted(const PlanChoiceRow& row, std::vector<int> values) const;
  /// Whether a tensor split may leave experts whole, given sequence parallelism.
  [[nodiscard]] bool supports_etp1(Plan plan) const;
  /// Whether ZeRO may shard in groups as large as a node.
  [[nodiscard]] bool has_shard_groups(const Plan& plan) const;
  /// Whether the values of open choices of a plan are possible together, which `values` repeats.
  [[nodiscard]] bool are_possible(const Plan& chosen, const ChoiceValues& values) const;
  /// Every possible combination of the first `rows` choices, the last of them outermost. `plan` has the values of the
  /// others.
  void add_choices(Plan& plan, const std::array<std::vector<int>, plan_choice_count>& of_rows, std::size_t rows,
                   ChoiceValues values, LikeChoices& choices) const;
  /// What choices depend on: the family, the degrees that some of them need to divide something, whether those divide the
  /// micro-batches, whether these are enough and even, whether there are shard groups, and whether tokens can be split,
  /// heads exchanged and unsplit experts distributed.
  using Key = std::tuple<Family, int, int, bool, std::int64_t, bool, bool, bool, bool>;
  [[nodiscard]] Key key_of(const Plan& plan) const;
  /// The samples of a rank's share of the batch, at most.
  [[nodiscard]] static std::int64_t replica_of(const Plan& plan);
  const SearchOptions& options_;
  const ModelFacts& facts_;
  int devices_per_node_;
  bool several_nodes_;
  bool chooses_blocks_;  ///< to recompute
  mutable std::map<std::int64_t, std::vector<std::int64_t>> micro_batches_;
  mutable std::map<Key, std::vector<LikeChoices>> choices_;
  /// By a rank's share of the batch, and what choices depend on: one more than there are for a placement.
  mutable std::map<std::pair<std::int64_t, Key>, std::int64_t> counts_;
};

}  // namespace ddl
