#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "estimator/search/rank.hpp"
#include "estimator/search/search.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Meshes of one family that no limit of their shape rules out, each with a bound, the most promising first.
struct Candidates {
  struct Candidate {
    double bound = 0;
    std::int64_t count = 0;  ///< of plans
    const Mesh* mesh = nullptr;
  };
  Family family = 0;
  std::vector<Candidate> meshes;
  std::optional<Estimate> nearest;  ///< of those ruled out
};

/// Prices the variants of families and keeps the best of each.
class FamilySearch {
 public:
  FamilySearch(const Estimator& estimator, const SearchOptions& options, SearchResult& result)
      : estimator_(estimator),
        options_(options),
        result_(result),
        space_(options, estimator.job().facts, estimator.job().machine.devices_per_node()),
        may_break_limits_(options.micro_batches.has_value() || asks_for_choices(options)) {}

  [[nodiscard]] const VariantSpace& space() const { return space_; }

  /// Of the plans that were kept the first that are wanted, ranked.
  void keep_first();

  /// Rules out what can be ruled out without pricing.
  Candidates candidates(Family family, const std::vector<Mesh>& degrees, std::int64_t all);

  /// Of `all` plans; whether to go on.
  bool run(const Candidates& candidates, std::int64_t all);

  /// Whether `a` is ranked before `b`.
  [[nodiscard]] bool is_better(const Estimate& a, const Estimate& b) const;

 private:
  [[nodiscard]] SearchResult counts() const;
  void restore(const SearchResult& counts);

  void try_all(const Candidates& candidates, std::int64_t all);

  /// Whether plans are known that are better than these are at best: of this family, or as many of other families as anybody
  /// wants to see. `plan`: the simplest of them.
  [[nodiscard]] bool beaten(Seconds bound, const Plan& plan);
  /// Whether there is anything that a plan may be beaten by: a bound need not be worked out before.
  [[nodiscard]] bool has_rivals() const;

  /// A lower bound of the memory of all plans with these degrees, whatever may lie in the memory of the host.
  [[nodiscard]] Bytes least_memory(Plan plan) const;

  /// A plan of these degrees with the first value of each choice.
  [[nodiscard]] Plan plan_of(const Mesh& mesh) const;
  /// Bounds without exchanges of plans with so many stages and parts of the batch, by micro-batches, the least one first.
  using BareBounds = std::vector<std::pair<double, std::int64_t>>;
  [[nodiscard]] const BareBounds& bare_bounds(Plan plan);
  /// Of the plan with whichever micro-batches suit it best. Micro-batches whose bound without exchanges is longer than
  /// another's bound are left out.
  [[nodiscard]] Seconds lower_bound(Plan plan);

  void reject(const Plan& plan, const Limits& limits);

  /// The plan that needs the least memory with everything saved; of very many a sample, evenly spread.
  [[nodiscard]] std::optional<Plan> smallest(const Candidates& candidates) const;

  /// How near a plan without enough memory comes at best: everything saved, micro-batches as small as they can be.
  void save_most(Plan plan);

  void note(const Estimate& estimate);

  void note(const RankedPlan& feasible);

  /// Takes a plan that may be among the first, while its prices are at hand.
  void keep(const RankedPlan& feasible);

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

  /// Whether what was asked for is impossible with these micro-batches; if so, the plan is rejected. Of all numbers only one
  /// that was asked for may be larger than the samples are many.
  bool is_ruled_out(Plan plan, const ChoiceValues& values);
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

  const Estimator& estimator_;
  const SearchOptions& options_;
  SearchResult& result_;
  VariantSpace space_;
  std::optional<RankedPlan> best_;
  Rank best_rank_;
  std::optional<Estimate> nearest_;
  Verdict allowed_ = Verdict::at_risk;  ///< the worst that a plan may have at the moment
  bool has_risk_ = false;               ///< some plan was left out that is at risk
  bool outdone_ = false;                ///< by plans of other families
  std::int64_t misfits_ = 0;            ///< plans without enough memory
  bool memory_first_ = false;           ///< the latest plan did not fit: of the next one the memory is worked out first
  std::int64_t looked_at_ = 0;          ///< degrees
  bool may_break_limits_;               ///< what was asked for may be impossible
  Least least_;
  std::optional<RankedPlan> last_kept_;
  std::map<std::tuple<Family, std::int64_t, int>, BareBounds> bare_bounds_;
  std::vector<Rank> leaders_;  ///< the best of each family so far, best first
};

}  // namespace ddl
