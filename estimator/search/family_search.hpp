#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/search/first_plans.hpp"
#include "estimator/search/leaders.hpp"
#include "estimator/search/mesh_bounds.hpp"
#include "estimator/search/rank.hpp"
#include "estimator/search/search.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// What the searches of all families have in common.
struct SearchCommons {
  SearchCommons(const Estimator& its_estimator, const SearchOptions& its_options)
      : estimator(its_estimator),
        options(its_options),
        space(its_options, its_estimator.job().facts, its_estimator.job().machine.devices_per_node()),
        time_bounds(its_estimator),
        bounds(its_estimator, time_bounds, space),
        leaders(its_options),
        first(its_estimator, its_options) {}

  const Estimator& estimator;
  const SearchOptions& options;
  VariantSpace space;
  TimeBounds time_bounds;
  MeshBounds bounds;
  Leaders leaders;
  FirstPlans first;
};

/// Prices variants of one family's plans, mesh by mesh, and keeps the best of them.
class FamilySearch {
 public:
  FamilySearch(SearchCommons& commons, Family family);

  [[nodiscard]] Family family() const { return family_; }

  /// Takes a mesh of the family; returns whether no limit of its shape rules it out.
  bool admits(const Mesh& mesh);
  /// A plan of these degrees with the first value of each choice.
  [[nodiscard]] Plan plan_of(const Mesh& mesh) const;
  /// How many plans of these degrees there are.
  [[nodiscard]] std::int64_t count(const Mesh& mesh) const { return commons_.space.count(plan_of(mesh)); }

  /// Plans that fit come first, whatever they take. Where there is none, what is at risk is looked for.
  void begin(Verdict allowed);
  /// Whether all plans of these degrees, which take no less than `bound`, are behind better ones.
  [[nodiscard]] bool is_beaten(Seconds bound, const Mesh& mesh) { return beaten(bound, plan_of(mesh)); }
  /// Gives up `count` plans that are beaten.
  void give_up(std::int64_t count);
  /// Prices those of `count` plans of these degrees that may be the best.
  void try_mesh(const Mesh& mesh, std::int64_t count);
  /// Whether nothing was found but plans at risk, which were not allowed.
  [[nodiscard]] bool asks_for_risk() const { return !best_ && !pruned_by_leader_ && allowed_ == Verdict::fits && has_risk_; }
  /// Looks for what comes nearest to fitting where nothing fits. `meshes`: all that were admitted.
  void end(const std::vector<const Mesh*>& meshes);

  /// Adds what was found to a result; `finished`: all plans were looked at.
  void report(bool finished, SearchResult& result) const;

 private:
  /// Whether plans are known that are better than these are at best: of this family, or as many of other families as anybody
  /// wants to see. `plan`: the simplest of them.
  [[nodiscard]] bool beaten(Seconds bound, const Plan& plan);
  /// The same of all plans that agree with `plan` in what the bound knows.
  [[nodiscard]] bool beaten(Closeness closeness, const Plan& plan, const Plan& simplest) {
    return beaten(commons_.time_bounds.least(closeness, plan), simplest);
  }
  /// Whether there is anything that a plan may be beaten by: a bound need not be worked out before.
  [[nodiscard]] bool has_rivals() const;

  /// A lower bound of the memory of all plans with these degrees, whatever may lie in the memory of the host.
  [[nodiscard]] Bytes least_memory(Plan plan) const;

  void reject(const Plan& plan, const Limits& limits);

  /// The plan that needs the least memory with everything saved; of very many a sample, evenly spread.
  [[nodiscard]] std::optional<Plan> smallest(const std::vector<const Mesh*>& meshes) const;

  /// How near a plan without enough memory comes at best: everything saved, micro-batches as small as they can be.
  void save_most(Plan plan);

  void note(const Estimate& estimate);

  void note(const RankedPlan& feasible);

  /// Memory that a plan has to exceed so that nothing more needs to be known of it: it neither fits nor comes nearer to
  /// fitting than all before it. Nothing if there is no such amount.
  [[nodiscard]] std::optional<Bytes> hopeless_memory() const;
  /// Whether all plans of these choices exceed it by their parameters alone.
  [[nodiscard]] bool are_hopeless(Plan plan, const LikeChoices& choices) const;

  void try_variants(Plan plan);

  /// The plan with the shard group that was asked for.
  [[nodiscard]] Plan asked(Plan plan) const;

  /// The plan with the first value of each choice.
  [[nodiscard]] static Plan simplest(Plan plan);

  /// Returns the choices with which a plan of this mesh and these micro-batches is possible. What was asked for may be
  /// impossible with some values of the other choices, or with these micro-batches: of all numbers only one that was asked
  /// for may be larger than the samples are many. Where none is left, the simplest plan is rejected.
  [[nodiscard]] const std::vector<LikeChoices>& possible_choices(Plan plan);
  [[nodiscard]] static bool asks_for_choices(const SearchOptions& options);

  /// The least memory that any saving reaches with micro-batches of some size.
  struct Least {
    double samples = 0;
    Bytes parameters{}, of_samples{};
  };
  [[nodiscard]] Least least_of(Plan plan, const std::vector<LikeChoices>& groups) const;

  [[nodiscard]] static bool is_smaller_at_most(Trade trade);
  /// Whether the simplest value of some choice needs no more memory.
  [[nodiscard]] static bool never_saves(const ChoiceValues& values, const ChoiceValues& simplest);

  /// Whether the simplest value of some choice is as good in every respect.
  [[nodiscard]] static bool is_never_better(const ChoiceValues& values, const ChoiceValues& simplest);

  /// Returns whether all of them need more memory than they may, whatever their times: wherever the ranks are, as long as
  /// the stages have the same layers.
  bool try_choices(Plan plan, const LikeChoices& choices);

  /// Prices the plan that computes so few blocks again that it just fits, where that plan may be the best. `plan` computes
  /// nothing again, and needs too much memory. More blocks never take less time and never need more memory, so that of all
  /// numbers of blocks this one is the best.
  void try_blocks(Plan plan);
  /// The same where every plan is priced, or where memory is what counts: of plans as small as with all blocks, and of those
  /// that may be, the one of fewest blocks.
  void try_blocks_by_memory(Plan plan);
  /// Prices a plan that computes some blocks again.
  void note_blocks(const Plan& plan);

  SearchCommons& commons_;
  const Estimator& estimator_;
  const SearchOptions& options_;
  const VariantSpace& space_;
  Family family_;
  bool may_break_limits_;                  ///< what was asked for may be impossible
  bool may_be_preferred_;                  ///< the family has measured runs: it may come first as it is known best
  std::optional<Estimate> nearest_shape_;  ///< of those that limits of their shape rule out
  std::int64_t shapeless_ = 0;             ///< plans ruled out by their shape
  SearchCounts counts_;                    ///< of the others
  std::optional<RankedPlan> best_;
  Rank best_rank_;
  std::optional<Estimate> nearest_;
  Verdict allowed_ = Verdict::at_risk;  ///< the worst that a plan may have at the moment
  bool has_risk_ = false;               ///< some plan was left out that is at risk
  bool pruned_by_leader_ = false;       ///< by plans of other families
  std::int64_t misfits_ = 0;            ///< plans without enough memory
  bool memory_first_ = false;           ///< the latest plan did not fit: of the next one the memory is worked out first
  Least least_;
  std::vector<LikeChoices> possible_;  ///< by possible_choices, where what was asked for rules some out
  std::vector<RankedPlan> ranked_;     ///< with SearchOptions::all: every feasible plan
};

}  // namespace ddl
