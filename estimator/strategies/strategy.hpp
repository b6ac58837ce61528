#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "estimator/exchanges/exchange.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/plan/limit.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/strategies/layout.hpp"
#include "estimator/strategies/replicated_layers.hpp"

namespace ddl {

/// One rank's shard of one layer: local shapes, local parameters, and the required exchanges, without any times.
struct LayerShard {
  std::vector<TensorShape> inputs;               ///< inputs, as the rank's kernels read them
  TensorShape output;                            ///< output, as the rank's kernels write it
  TensorShape kept_input;                        ///< the first input as the rank's memory stores it
  TensorShape kept_output;                       ///< the output as the rank's memory stores it after exchanges
  double weights = 0, biases = 0;                ///< parameters on this rank
  double trained_share = 1;                      ///< share of the parameters that have gradients
  double samples = 1;                            ///< samples of one micro-batch
  double share = 1;                              ///< share of the layer's work per sample, by which times are scaled
  double filter_parts = 1;                       ///< number of parts of the filters
  double channel_parts = 1;                      ///< number of parts of the input channels of a matrix layer
  std::array<AxisLayout, axis_count> layouts{};  ///< layouts of its input and output, by axis
  std::vector<Exchange> exchanges;
  double batches = 1;             ///< number of ranks whose micro-batches the layer's kernels process together
  double held = 1;                ///< number of such layers that a rank runs: a mean, if tables are distributed
  std::optional<double> touched;  ///< number of trained parameters with a gradient in a step; unset: all
  /// number of gradients whose Allreduce takes as long as the exchange of sparse gradients; unset: trained parameters
  std::optional<double> exchanged;
  Family replicas = replica_axes;              ///< axes with ranks that hold replicas of the layer's weights
  std::shared_ptr<const Operation> operation;  ///< the rank's operation, if it differs from the layer's operation

  [[nodiscard]] double parameters() const { return weights + biases; }
  [[nodiscard]] double trained() const { return parameters() * trained_share; }
  [[nodiscard]] double updated() const { return touched.value_or(trained()); }
};

struct Borders;

/// The inputs of a strategy that divides one layer.
struct ShardContext {
  const ModelFacts& facts;
  const Plan& plan;
  const Assumptions& assumptions;
  int layer = 0;
  ReplicatedLayers replicated{};
  const Borders* borders =
      nullptr;  ///< the layer's tensors that layers on other meshes write or read; null if there are none

  [[nodiscard]] const Layer& at() const { return facts.model->layers[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(layer); }
  /// Returns the operation that a rank runs on its shard of the layer.
  [[nodiscard]] const std::shared_ptr<const Operation>& operation(const LayerShard& shard) const {
    return shard.operation ? shard.operation : at().operation;
  }
};

struct LimitContext {
  const ModelFacts& facts;
  const Plan& plan;
  const Software& software;
  const Assumptions* assumptions = nullptr;               ///< null: default assumptions
  int first = 0, last = std::numeric_limits<int>::max();  ///< the layers [first, last) that are divided

  [[nodiscard]] bool has_all_layers() const { return first == 0 && last == std::numeric_limits<int>::max(); }
  /// Returns the divided layers of `layers`, which are in ascending order.
  [[nodiscard]] std::span<const int> divided(const std::vector<int>& layers) const {
    const auto begin = std::lower_bound(layers.begin(), layers.end(), first);
    return {begin, std::lower_bound(begin, layers.end(), last)};
  }
};

/// A way of dividing the work along one axis: a summary, the limits, and a function that describes
/// one rank's shard of a layer. Hybrids apply several strategies one after the other. A new
/// strategy needs one new file and one new row of the table.
struct Strategy {
  Axis axis = Axis::data;
  std::string_view summary;
  void (*limits)(const LimitContext& context, Limits& limits) = nullptr;
  void (*shard)(const ShardContext& context, LayerShard& shard) = nullptr;
};

/// Returns all strategies, in the order in which they divide a layer.
[[nodiscard]] std::span<const Strategy* const> strategies();

/// Writes one rank's shard of a layer, under all strategies of the plan, to `shard`. If layers on other meshes write or read
/// tensors of the layer, the shard has the exchanges between the layouts. The caller can reuse `shard` to save allocations.
void shard_layer(const ShardContext& context, LayerShard& shard);
/// Returns every limit that excludes the plan before its time is estimated.
[[nodiscard]] Limits limits_of(const LimitContext& context);

/// Scales the halo exchanges of a layer for a rank that has the share `part` of the layer's input
/// channels (forward) or filters (backward).
void scale_halos(LayerShard& shard, Phase phase, double part);

/// Returns the size of the largest part if `whole` units are distributed over `parts` ranks.
[[nodiscard]] constexpr std::int64_t largest_part(std::int64_t whole, std::int64_t parts) {
  return (whole + parts - 1) / parts;
}

}  // namespace ddl
