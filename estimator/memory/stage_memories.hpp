#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/split_tables.hpp"
#include "estimator/layers/stage_of.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// The memory of the stages of plans. Values that are equal for all plans of one split are computed
/// once. `firsts`: the first layer of every stage, and the layer count. Not thread-safe.
class StageMemories {
 public:
  /// The tables must outlive this object.
  explicit StageMemories(const SplitTables& tables) : tables_(tables), job_(tables.job()) {}

  /// Returns a stage, with the parameters that a rank of the stage holds.
  [[nodiscard]] StageOf stage(const Plan& plan, const std::vector<int>& firsts, int stage) const;
  [[nodiscard]] MemoryBreakdown memory(const Plan& plan, const std::vector<int>& firsts, int stage) const;
  /// The stage that needs most memory.
  struct PeakStage {
    std::vector<int> firsts;
    Schedule schedule{};
    int virtual_stages = 1;
    MemoryChoices choices;
    MemoryBreakdown memory;
    int stage = 0;
    bool has_reserved = false;  ///< whether a model of the allocator has computed MemoryBreakdown::peak_reserved
  };
  /// Returns the stage that needs most memory. The reference is valid until the next call with a different plan.
  [[nodiscard]] PeakStage& fullest(const Plan& plan, const std::vector<int>& firsts) const;
  /// Returns the memory that each micro-batch keeps between its forward and its backward, for layers [first, last).
  [[nodiscard]] MemoryState kept(const Plan& plan, int first, int last) const;
  /// Returns the memory of kept(), rounded as by the allocator. The memory may have been computed
  /// for a plan that differs only in choices that do not affect it.
  [[nodiscard]] Bytes kept_alike(const Plan& plan, int first, int last) const;
  /// Returns the memory that a rank of the stage with layers [first, last) holds during a whole step, with the memory that
  /// the framework's allocator does not provide.
  [[nodiscard]] Bytes resident(const Plan& plan, int first, int last) const;

  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] const SplitTables& tables() const { return tables_; }

 private:
  [[nodiscard]] const ResidentPeaks& residents(const Plan& plan, const LayerRange& layers, double parts) const;
  [[nodiscard]] const StagePeaks& peaks(const Plan& plan, int first, int last, double parts) const;
  [[nodiscard]] double held_parts(const Plan& plan, const std::vector<int>& firsts, int stage) const;
  /// Returns the first layers of the model that need as much memory as layers [first, last). In a run of repeated layers,
  /// all repetitions except the first are equivalent as the beginning of the range.
  [[nodiscard]] static LayerRange foremost_alike(const Plan& plan, const LayerRuns& runs, int first, int last);
  /// The memory that was computed for the plans of a split.
  struct Known {
    std::vector<PeakStage> fullest;  ///< valid for any placement
    /// The peaks of stages, keyed by the layers of a stage, the choices, and the shares of
    /// parameters. If the share is zero, only the memory that micro-batches keep is valid.
    std::map<std::tuple<int, int, MemoryChoices, double>, StagePeaks> peaks;
    std::map<std::tuple<int, int, PassChoices>, PassPeaks> passes;
    std::map<std::tuple<int, int, MemoryChoices, double>, ResidentPeaks> residents;
  };
  [[nodiscard]] Known& known(const SplitTables::Split& split) const { return known_.of(split.slot, split.number); }

  const SplitTables& tables_;
  const Job& job_;
  mutable PerSplit<Known> known_;
};

}  // namespace ddl
