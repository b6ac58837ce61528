#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/strategies/replicated_layers.hpp"

namespace ddl {

/// The layers at which the stages of a pipeline may begin. These are the first layers of blocks if there are enough blocks,
/// and otherwise layers with weights. Every stage has a layer with weights.
class StagePlaces {
 public:
  /// A spatial split reduces the items that cross a cut: tensors are divided into `tiles`, except at cuts between
  /// `replicated` layers.
  StagePlaces(const ModelFacts& facts, int stages, const ReplicatedLayers& replicated, double tiles);

  /// Returns lists of layers at which a stage may begin, each from 0 to the layer count. The first list has the places that
  /// the fewest items cross. Each further list adds places that more items cross, up to all places. Empty if there are fewer
  /// places than stages.
  [[nodiscard]] const std::vector<std::vector<int>>& levels() const { return levels_; }
  /// Returns the first layers of stages with equal numbers of blocks, and the layer count. Empty if the blocks cannot be
  /// divided equally, or do not begin at allowed places.
  [[nodiscard]] const std::vector<int>& equal_blocks() const { return equal_blocks_; }
  /// Whatever the cuts are, at least this many items per sample cross the largest one: the maximum over the places of the
  /// first list.
  [[nodiscard]] double least_items() const { return least_items_; }

 private:
  double least_items_ = 0;
  std::vector<std::vector<int>> levels_;
  std::vector<int> equal_blocks_;
};

/// The load of a stage for one micro-batch, by which stages are balanced. It is a sum over layers.
struct StageLoad {
  Seconds forward{}, backward{};                       ///< kernels, layer-wise exchanges and halos
  double forward_launches = 0, backward_launches = 0;  ///< launches of kernels and exchanges
  double parameters = 0;
  Bytes kept{};
  void add(const StageLoad& other, double times);
  /// Returns the time of forward and backward if the host takes `start` to launch a kernel.
  [[nodiscard]] Seconds time(Seconds start) const {
    return max(forward, start * forward_launches) + max(backward, start * backward_launches);
  }
};

/// The factors that convert a load into a time and a memory.
struct StageWeights {
  Seconds start{};  ///< launch overhead of a kernel
  double bytes_of_parameter = 0;
  double micro_batches = 1;  ///< number of micro-batches; under 1F1B, it limits how many a stage holds
};

/// The relative tolerance of the length of the longest stage.
inline constexpr double cut_rounding = 2e-9;

/// One way of dividing layers into stages.
struct StageCuts {
  std::vector<int> places;  ///< the first layer of every stage, and the end, as indices of the loads
  Seconds longest{};        ///< time of the longest stage
  Bytes fullest{};          ///< memory of the stage with most memory
};

/// Divides layers into stages at given places. `before` has the load before each place, including the end, and at least as
/// many places as stages.
class StageBalance {
 public:
  StageBalance(const std::vector<StageLoad>& before, const StageWeights& weights, int stages);

  /// Returns cuts that minimize the time of the longest stage. Stages with less load come first, because the first stages
  /// hold the most micro-batches.
  [[nodiscard]] StageCuts light_first();
  /// Among the cuts that minimize the time of the longest stage, returns the cuts with the smallest maximum of stage memory.
  [[nodiscard]] StageCuts least_full();
  /// Returns the shortest possible time of the longest stage, over all cuts at these places, in seconds.
  [[nodiscard]] Seconds shortest();

 private:
  struct Limits {
    double longest = 0, fullest = 0;
  };
  /// Assigns layers to stages from the last stage on, as many to each as the limits allow. Returns whether that is possible.
  bool deal(const Limits& limits);
  template <class Fits>
  [[nodiscard]] int farthest(int least, int begin, const Fits& fits) const;
  [[nodiscard]] StageCuts dealt() const;

  const std::vector<StageLoad>& before_;
  StageWeights weights_;
  int stages_;
  std::vector<int> begins_;
  Limits reached_;  ///< the limits that the last successful assignment reached
  Limits next_;     ///< the next limits to try after the last failed assignment; lower limits fail as well
  std::optional<double> shortest_;
};

}  // namespace ddl
