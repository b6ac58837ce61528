#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "estimator/search/activation_bounds.hpp"
#include "estimator/search/first_plans.hpp"
#include "estimator/search/leaders.hpp"
#include "estimator/search/mesh_bounds.hpp"
#include "estimator/search/rank.hpp"
#include "estimator/search/saving_plans.hpp"
#include "estimator/search/search.hpp"
#include "estimator/search/sharding_bounds.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The state that the searches of all families share.
struct SearchCommons {
  SearchCommons(const Estimator& its_estimator, const SearchOptions& its_options)
      : estimator(its_estimator),
        options(its_options),
        space(its_options, its_estimator.job().facts, its_estimator.job().machine),
        time_bounds(its_estimator),
        bounds(its_estimator, time_bounds, space, its_options.devices, its_options.left_out),
        activation_bounds(its_estimator),
        sharding_bounds(its_estimator, space),
        leaders(its_options),
        first(its_estimator, its_options) {}

  const Estimator& estimator;
  const SearchOptions& options;
  VariantSpace space;
  TimeBounds time_bounds;
  MeshBounds bounds;
  ActivationBounds activation_bounds;
  ShardingBounds sharding_bounds;
  Leaders leaders;
  FirstPlans first;
  std::map<const LikeChoices*, SavingChoices> saving_choices{};  ///< keyed by a group of choices of the space
  std::optional<RankedPlan> best{};                              ///< the best plan of all families
};

/// Estimates variants of one family's plans, mesh by mesh, and keeps the best plans.
class FamilySearch {
 public:
  FamilySearch(SearchCommons& commons, Family family);

  [[nodiscard]] Family family() const { return family_; }

  /// Checks a mesh of the family. Returns whether no limit excludes the mesh's shape.
  bool admits(const Mesh& mesh);
  /// Returns a plan with these degrees and the first value of each choice.
  [[nodiscard]] Plan plan_of(const Mesh& mesh) const;
  /// Returns the number of plans with these degrees.
  [[nodiscard]] std::int64_t count(const Mesh& mesh) const { return commons_.space.count(plan_of(mesh)); }

  /// Begins a search for plans whose verdict is `allowed` or better. Plans at risk are searched
  /// only if no plan fits, because plans that fit rank before plans at risk.
  void begin(Verdict allowed);
  /// Returns whether known plans are better than all plans with these degrees, which take at least `bound`.
  [[nodiscard]] bool is_beaten(Seconds bound, const Mesh& mesh) { return beaten(bound, plan_of(mesh)); }
  /// Counts `count` plans as pruned, because they cannot be the best.
  void give_up(std::int64_t count);
  /// Estimates the plans with these degrees that may be the best. `count`: number of plans with these degrees.
  void try_mesh(const Mesh& mesh, std::int64_t count);
  /// Returns whether plans at risk were found but not allowed, and no other plans were found.
  [[nodiscard]] bool asks_for_risk() const { return !best_ && !pruned_by_leader_ && allowed_ == Verdict::fits && has_risk_; }
  /// Returns the best plan so far.
  [[nodiscard]] const std::optional<RankedPlan>& best() const { return best_; }
  /// Returns the time of the best plan so far; infinite if no plan is known.
  [[nodiscard]] double best_time() const {
    return best_ ? best_->step_time.value() : std::numeric_limits<double>::infinity();
  }
  /// Guesses the time of the best plan with these degrees. The guess may be too short or too long.
  [[nodiscard]] Seconds guess(const Mesh& mesh) const;
  /// If no plan fits, finds the plan that comes nearest to fitting. `meshes`: all admitted meshes of the family.
  void end(const std::deque<Mesh>& meshes);

  /// Adds the best plans and the counts to a result. `finished`: whether all plans were examined.
  void report(bool finished, SearchResult& result) const;

 private:
  /// Returns whether plans that take at least `bound` cannot be among the results. They cannot if a better plan of this
  /// family is known, or as many better plans of other families as were requested. `plan`: the simplest of the plans in
  /// question.
  [[nodiscard]] bool beaten(Seconds bound, const Plan& plan);
  /// Returns whether all plans with the bound of `plan` are beaten. `simplest`: the simplest of these plans.
  [[nodiscard]] bool beaten(Closeness closeness, const Plan& plan, const Plan& simplest);
  [[nodiscard]] bool has(SearchBound bound) const { return !options_.left_out[bound]; }
  /// Returns whether any known plan could be better than another plan. Without a known plan, no bound has to be computed.
  [[nodiscard]] bool has_rivals() const;
  /// Returns whether plans are ranked by time and a known plan could be better.
  [[nodiscard]] bool may_be_beaten() const;

  /// Returns a lower bound of the memory of all plans with these degrees, for any offloading to host memory.
  [[nodiscard]] Bytes least_memory(Plan plan) const;
  /// Returns whether the parameters of all plans with these degrees need more memory than devices and hosts have.
  [[nodiscard]] bool cannot_fit(Plan plan) const;

  void reject(const Plan& plan, const Limits& limits);

  /// Returns the plan that needs the least memory with all memory savings. If there are very many
  /// plans, only an evenly spaced sample of the plans is searched.
  [[nodiscard]] std::optional<Plan> smallest(const std::deque<Mesh>& meshes) const;

  /// For a plan that does not fit, records the least memory that it can need, with all memory
  /// savings and the smallest micro-batches.
  void save_most(Plan plan);

  void note(const Estimate& estimate);

  /// Keeps a plan if it is the best so far. Returns false if the search leaves it out because no tool starts it.
  bool note(const RankedPlan& feasible);

  /// Returns the memory above which a plan is excluded: it does not fit, and earlier plans come nearer to fitting. No other
  /// property of such a plan has to be computed. Unset if no amount of memory excludes a plan.
  [[nodiscard]] std::optional<Bytes> hopeless_memory() const;
  /// Returns whether a plan with these degrees and micro-batches keeps more activations than hopeless_memory() with any
  /// other choices, which do not include recomputation or offloaded activations. False for a family of which some plan fits
  /// or was pruned by time: only if no plan fits, memory is the reason that a report gives.
  [[nodiscard]] bool activations_are_hopeless(const Plan& plan) const;

  /// Returns whether the first stage keeps more than hopeless_memory() with any of these choices, and with any number of
  /// recomputed blocks.
  [[nodiscard]] bool all_keep_too_much(Plan plan, const LikeChoices& choices) const;

  /// Returns whether plans with these degrees, micro-batches and placement are beaten because of exchanges by which they
  /// save memory for parameters.
  [[nodiscard]] bool sharding_is_beaten(const Plan& plan);

  /// Returns whether plans with these choices are beaten, because those that fit spend time to save memory.
  [[nodiscard]] bool savings_are_slow(const Plan& plan, const LikeChoices& choices);

  /// Returns the numbers of micro-batches with which a plan of this mesh may be the best, by the bound without exchanges.
  [[nodiscard]] std::vector<std::int64_t> promising(Plan plan);
  /// `count`: number of plans of the mesh.
  void try_variants(Plan plan, std::int64_t count);
  /// Estimates the plans with these placements and choices that may be the best.
  void try_placements(Plan plan, const std::vector<Placement>& placements, const std::vector<LikeChoices>& groups);

  /// Returns the plan with the shard group that the user requested.
  [[nodiscard]] Plan asked(Plan plan) const;

  /// Returns the plan with the first value of each choice.
  [[nodiscard]] static Plan simplest(Plan plan);

  /// Returns the choices with which a plan of this mesh and these micro-batches is possible. A requested value may be
  /// impossible with some values of the other choices, or with these micro-batches. Only a requested number of micro-batches
  /// may exceed the number of samples. If no choice is left, the simplest plan is rejected.
  [[nodiscard]] const std::vector<LikeChoices>& possible_choices(Plan plan);
  [[nodiscard]] static bool asks_for_choices(const SearchOptions& options);

  [[nodiscard]] static bool is_smaller_at_most(Trade trade);
  /// Returns whether, for some choice, the simplest value needs no more memory than the value in `values`.
  [[nodiscard]] static bool never_saves(const ChoiceValues& values, const ChoiceValues& simplest);

  /// Returns whether, for some choice, the simplest value is at least as good in every respect as the value in `values`.
  [[nodiscard]] static bool is_never_better(const ChoiceValues& values, const ChoiceValues& simplest);

  /// Returns whether all plans with these choices need too much memory, for any time. The result
  /// also holds for other placements with the same layers in each stage.
  bool try_choices(Plan plan, const LikeChoices& choices);

  /// Estimates the plan with the fewest recomputed blocks that fits, if the plan may be the best.
  /// `plan` recomputes nothing, and needs too much memory. Recomputing more blocks never takes less
  /// time and never needs more memory, so the smallest number of blocks that fits is the best. Returns false if the plan
  /// does not fit even with all blocks recomputed.
  bool try_blocks(Plan plan);
  /// Like try_blocks(), but used if every plan is estimated, or if the objective is memory.
  /// Estimates the smallest number of blocks with which the plan fits, and the smallest number with
  /// which the plan needs as little memory as with all blocks recomputed.
  void try_blocks_by_memory(Plan plan);
  /// Estimates a plan that recomputes some blocks.
  void note_blocks(const Plan& plan);

  SearchCommons& commons_;
  const Estimator& estimator_;
  const SearchOptions& options_;
  const VariantSpace& space_;
  Family family_;
  bool may_break_limits_;  ///< whether choices that the space contains may be impossible
  /// whether the family has measured runs, and may rank first because its times are more certain
  bool may_be_preferred_;
  std::optional<Estimate> nearest_shape_;  ///< nearest plan among the plans with an impossible shape
  std::int64_t shapeless_ = 0;             ///< number of plans with an impossible shape
  SearchCounts counts_;                    ///< counts of all plans whose shape is possible
  std::optional<RankedPlan> best_;
  Rank best_rank_;
  std::optional<Estimate> nearest_;
  Verdict allowed_ = Verdict::at_risk;  ///< the worst verdict that is currently allowed
  bool has_risk_ = false;               ///< whether a plan at risk was left out
  bool pruned_by_leader_ = false;       ///< whether plans were pruned because of other families
  std::int64_t unstartable_ = 0;        ///< number of plans that fit and that no tool starts, if these are left out
  std::int64_t misfits_ = 0;            ///< number of plans that need too much memory
  bool memory_first_ = false;           ///< whether the latest plan did not fit, so the next plan's memory is checked first
  std::vector<LikeChoices> possible_;   ///< result of possible_choices, if requested choices exclude some values
  std::optional<Plan> possible_of_;     ///< the plan that `possible_` refers to
  std::vector<RankedPlan> ranked_;      ///< with SearchOptions::all, every feasible plan
};

}  // namespace ddl
