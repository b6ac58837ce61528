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
  /// A spatial split divides tensors into `tiles`, so fewer elements cross a cut. Tensors between
  /// `replicated` layers are not divided.
  StagePlaces(const ModelFacts& facts, int stages, const ReplicatedLayers& replicated, double tiles);

  /// Returns lists of layers at which a stage may begin, each from 0 to the layer count. The first
  /// list contains the cuts that the fewest elements cross. Each further list adds cuts that more
  /// elements cross. The last list contains all places. Empty if there are fewer places than stages.
  [[nodiscard]] const std::vector<std::vector<int>>& levels() const { return levels_; }
  /// Returns the first layers of stages with equal numbers of blocks, and at the end the layer count. The layers before and
  /// after the blocks may count as a block each. Empty if the blocks cannot be divided equally, or do not begin at allowed
  /// places.
  [[nodiscard]] const std::vector<int>& equal_blocks() const { return equal_blocks_; }
  /// Returns a lower bound of the number of elements per sample that cross the largest cut, for any
  /// choice of cuts. The bound is the maximum over the places of the first list.
  [[nodiscard]] double least_items() const { return least_items_; }

 private:
  double least_items_ = 0;
  std::vector<std::vector<int>> levels_;
  std::vector<int> equal_blocks_;
};

/// Returns the first layers of stages with these numbers of blocks, and at the end the layer count.
[[nodiscard]] std::vector<int> first_layers(const Model& model, const std::vector<int>& blocks);

/// The load of a stage for one micro-batch. Stages are balanced by load. A load is a sum over layers.
struct StageLoad {
  Seconds forward{}, backward{};                       ///< kernels, layer-wise exchanges and halos
  double forward_launches = 0, backward_launches = 0;  ///< launches of kernels and exchanges
  double parameters = 0;
  Bytes kept{};
  void add(const StageLoad& other, double times);
  /// Returns the time of forward and backward, in seconds, if the host takes `start` to launch a kernel.
  [[nodiscard]] Seconds time(Seconds start) const {
    return max(forward, start * forward_launches) + max(backward, start * backward_launches);
  }
};

/// The factors that convert the load of a stage into a time and a memory.
struct StageWeights {
  Seconds start{};  ///< launch overhead of a kernel
  double bytes_of_parameter = 0;
  double micro_batches = 1;  ///< number of micro-batches; under 1F1B, a stage holds no more than this many
};

/// The relative tolerance for the time of the longest stage.
inline constexpr double cut_rounding = 2e-9;

/// A division of the layers into stages.
struct StageCuts {
  std::vector<int> places;  ///< the first layer of every stage, and the end of the last stage, as indices of the loads
  Seconds longest{};        ///< time of the longest stage
  Bytes fullest{};          ///< memory of the stage that needs most memory
};

/// Divides layers into stages at given places. `before` contains the load before each place and
/// before the end. There must be at least as many places as stages.
class StageBalance {
 public:
  StageBalance(const std::vector<StageLoad>& before, const StageWeights& weights, int stages);

  /// Returns cuts that minimize the time of the longest stage. Earlier stages get less load than
  /// later stages, because they hold more micro-batches.
  [[nodiscard]] StageCuts light_first();
  /// Among the cuts that minimize the time of the longest stage, returns cuts that minimize the maximum of stage memory.
  [[nodiscard]] StageCuts least_full();
  /// Returns the shortest possible time of the longest stage, over all cuts at these places, in seconds.
  [[nodiscard]] Seconds shortest();

 private:
  struct Limits {
    double longest = 0, fullest = 0;
  };
  /// Assigns layers to stages from the last stage on. Each stage gets as many layers as the limits
  /// allow. Returns whether the layers fit.
  bool assign(const Limits& limits);
  template <class Fits>
  [[nodiscard]] int farthest(int least, int begin, const Fits& fits) const;
  [[nodiscard]] StageCuts assigned() const;

  const std::vector<StageLoad>& before_;
  StageWeights weights_;
  int stages_;
  std::vector<int> begins_;
  Limits reached_;  ///< the limits that the last successful assignment reached
  Limits next_;     ///< the next limits to try after a failed assignment; all lower limits fail as well
  std::optional<double> shortest_;
};

}  // namespace ddl
