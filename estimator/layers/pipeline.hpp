#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/strategies/replicated_layers.hpp"

namespace ddl {

/// The layers at which the stages of a pipeline may begin: at the borders of blocks if there are enough of them, otherwise
/// before layers with weights. Every stage has a layer with weights.
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
  /// Returns a lower bound, over all cuts, of the items per sample that cross the largest cut. It is the largest number of
  /// items at any place of the first list.
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

/// The weights that turn a load into a time and a memory.
struct StageWeights {
  Seconds start{};  ///< launch overhead of a kernel
  double bytes_of_parameter = 0;
  double micro_batches = 1;  ///< under 1F1B
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

  /// Returns cuts that minimize the time of the longest stage. Stages with less load come first, where most micro-batches
  /// are in flight.
  [[nodiscard]] StageCuts light_first();
  /// Returns, of all cuts that minimize the time of the longest stage, those with the smallest maximum of stage memory.
  [[nodiscard]] StageCuts least_full();
  /// Returns the time of the longest stage, in seconds, which no cut at these places can shorten.
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
  Limits reached_;  ///< limits that the last successful assignment reached
  Limits next_;     ///< next limits after the last failed assignment; limits below these have the same result
  std::optional<double> shortest_;
};

}  // namespace ddl
