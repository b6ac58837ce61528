#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/model_facts.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Where the stages of a pipeline may begin: at the borders of blocks where there are enough of them, else before layers
/// with weights. Every stage has a layer with weights.
class StagePlaces {
 public:
  /// Less crosses a cut where a spatial split has cut its tensors: before layers up to `spatial_end`, into `tiles`.
  StagePlaces(const ModelFacts& facts, int stages, int spatial_end, double tiles);

  /// First layers that a stage may have, beginning with 0, and the layer count. Places [0] are those that the fewest items
  /// cross; each further entry adds those that more cross, up to all. Empty where there are fewer places than stages.
  [[nodiscard]] const std::vector<std::vector<int>>& levels() const { return levels_; }
  /// First layers of stages with equal numbers of the model's blocks, and the layer count; empty where blocks cannot be
  /// dealt so, or do not begin at places.
  [[nodiscard]] const std::vector<int>& equal_blocks() const { return equal_blocks_; }
  /// Items per sample that cross the busiest cut, whichever the cuts: those of the dearest place of the first level.
  [[nodiscard]] double least_items() const { return least_items_; }

 private:
  double least_items_ = 0;
  std::vector<std::vector<int>> levels_;
  std::vector<int> equal_blocks_;
};

/// What a stage of a pipeline is chosen by, of one micro-batch. Sums up over layers.
struct StageLoad {
  Seconds forward{}, backward{};                   ///< kernels, layer-wise exchanges and halos
  double forward_starts = 0, backward_starts = 0;  ///< of kernels and exchanges
  double parameters = 0;
  Bytes kept{};
  void add(const StageLoad& other, double times);
  /// Forward and backward where the host needs so long to start a kernel.
  [[nodiscard]] Seconds time(Seconds start) const {
    return max(forward, start * forward_starts) + max(backward, start * backward_starts);
  }
};

/// What makes a time and a memory of a load.
struct StageWeights {
  Seconds start{};  ///< that the host needs for a kernel
  double bytes_of_parameter = 0;
  double micro_batches = 1;  ///< under 1F1B
};

/// The longest stage of a cut is as short as it can be up to this share of it.
inline constexpr double cut_rounding = 2e-9;

/// One way of dealing layers to stages.
struct StageCuts {
  std::vector<int> places;  ///< where every stage begins, and the end: indices of the loads they were cut by
  Seconds longest{};        ///< time of the longest stage
  Bytes fullest{};          ///< memory of the fullest
};

/// Deals layers to stages at places of which the loads before them are known, the end among them; no fewer than stages.
class StageBalance {
 public:
  StageBalance(const std::vector<StageLoad>& before, const StageWeights& weights, int stages);

  /// The longest stage is as short as it can be, and light stages come first, where most micro-batches are in flight.
  [[nodiscard]] StageCuts light_first();
  /// Of all cuts whose longest stage is as short, the one whose fullest stage is as small as it can be.
  [[nodiscard]] StageCuts least_full();
  /// No cut at these places has a shorter longest stage.
  [[nodiscard]] Seconds shortest();

 private:
  struct Limits {
    double longest = 0, fullest = 0;
  };
  /// Deals from the right, as much to each stage as the limits allow; whether that can be done.
  bool deal(const Limits& limits);
  template <class Fits>
  [[nodiscard]] int farthest(int least, int begin, const Fits& fits) const;
  [[nodiscard]] StageCuts dealt() const;

  const std::vector<StageLoad>& before_;
  StageWeights weights_;
  int stages_;
  std::vector<int> begins_;
  Limits reached_;  ///< by the last deal that could be done
  Limits next_;     ///< of the last that could not: smaller limits than these come to the same
  std::optional<double> shortest_;
};

}  // namespace ddl
