#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_time.hpp"
#include "estimator/kernels/shard_times.hpp"
#include "estimator/kernels/timed_kernel.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_memory.hpp"
#include "estimator/layers/layer_runs.hpp"
#include "estimator/layers/pipeline.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The largest number of different sets of axes along which gradients are summed in one step.
inline constexpr std::size_t most_gradient_groups = 3;

/// Returns whether selective recomputation recomputes a layer (SelectiveRecompute).
[[nodiscard]] bool is_selected(const ModelFacts& facts, const Assumptions& assumptions, const Plan& plan, int layer);

/// The times of a layer on one rank, for one micro-batch unless stated otherwise.
enum class LayerTime {
  forward,            ///< kernels
  backward,           ///< kernels
  input_gradient,     ///< kernels of backward that compute the gradient of the input
  weight_gradient,    ///< kernels of backward that compute the gradients of weights
  selected_forward,   ///< kernels of forward that selective recomputation repeats
  selected_exchange,  ///< layer-wise collectives of forward that selective recomputation repeats
  exchange_forward,   ///< layer-wise collectives
  exchange_backward,
  experts_forward,  ///< among the layer-wise collectives, the All-to-alls of experts: dispatch and combine
  experts_backward,
  halo_forward,  ///< neighbour exchanges, and the gather where a spatial split ends
  halo_backward,
  update,         ///< per step, unsharded optimizer
  sharded_update  ///< per step, optimizer sharded among all replicas
};
/// Numbers of kernels, exchanges and parameters of a layer on one rank.
enum class LayerCount {
  forward_kernels,  ///< in units of forward launches
  backward_kernels,
  selected_kernels,   ///< kernels that selective recomputation repeats
  forward_exchanges,  ///< layer-wise collectives and halos, which also need launches
  backward_exchanges,
  parameters,
  trained,               ///< parameters that have gradients
  gradient_messages,     ///< 1 if the layer has a weight matrix, else 0
  whole_parameters,      ///< parameters of unsplit matrix layers without positions
  workspaces_estimated,  ///< number of kernels whose scratch memory is estimated from other kernels
  workspaces_unknown     ///< number of kernels whose scratch memory is unknown
};
enum class LayerBytes {
  kept,   ///< activations kept for backward
  input,  ///< |x| as stored in memory
  output  ///< |y| as stored in memory
};

/// The costs of one layer on one rank: its shard, and the times of all its problems and exchanges.
struct LayerCosts {
  EnumArray<LayerTime, Seconds> times;
  /// If requested, the derivatives of the times with respect to the coefficients that are fitted to runs. For kernels, this
  /// is the time added per unit of Coefficient::repeated. For exchanges, it is the time of start-ups. All are in seconds.
  EnumArray<LayerTime, Seconds> slopes;
  EnumArray<LayerCount, double> counts;
  EnumArray<LayerBytes, Bytes> bytes;
  /// Parameters whose gradients are summed along the axes of each gradient group of the table.
  std::array<double, most_gradient_groups> gradient_parameters{};
  std::array<double, most_gradient_groups> frozen_parameters{};  ///< number of parameters without gradients

  [[nodiscard]] Seconds& operator[](LayerTime row) { return times[row]; }
  [[nodiscard]] Seconds operator[](LayerTime row) const { return times[row]; }
  [[nodiscard]] double& operator[](LayerCount row) { return counts[row]; }
  [[nodiscard]] double operator[](LayerCount row) const { return counts[row]; }
  [[nodiscard]] Bytes& operator[](LayerBytes row) { return bytes[row]; }
  [[nodiscard]] Bytes operator[](LayerBytes row) const { return bytes[row]; }

  void add(const LayerCosts& other, double repeats);
  /// Returns the number of parameters whose gradients are exchanged along any axes. With `gathered`, parameters that ranks
  /// only gather are included.
  [[nodiscard]] double exchanged_parameters(bool gathered = false) const {
    const double trained_ones = std::accumulate(gradient_parameters.begin(), gradient_parameters.end(), 0.0);
    return gathered ? std::accumulate(frozen_parameters.begin(), frozen_parameters.end(), trained_ones) : trained_ones;
  }
  /// Returns the time that the device waits in forward and in backward of one micro-batch if the host takes `start` to
  /// launch each kernel and exchange.
  [[nodiscard]] Seconds idle_forward(Seconds start) const {
    return max(Seconds{},
               start * (counts[LayerCount::forward_kernels] + counts[LayerCount::forward_exchanges]) -
                   (times[LayerTime::forward] + times[LayerTime::exchange_forward] + times[LayerTime::halo_forward]));
  }
  [[nodiscard]] Seconds idle_backward(Seconds start) const {
    return max(Seconds{},
               start * (counts[LayerCount::backward_kernels] + counts[LayerCount::backward_exchanges]) -
                   (times[LayerTime::backward] + times[LayerTime::exchange_backward] + times[LayerTime::halo_backward]));
  }
};

/// An exchange of a layer for one micro-batch, with its predicted time.
struct TimedExchange {
  Exchange exchange;
  Bytes message{};  ///< bytes of the full vector of one exchange
  double ranks = 1;
  Route route = Route::direct;
  std::string_view algorithm;
  Seconds time{};           ///< time of all messages of the exchange
  Bottleneck bottleneck{};  ///< the link that limits the exchange's flows
};

/// A problem in the form in which profiles list it, with the problem's predicted time.
struct TimedProblem {
  std::string line;
  Phase phase = Phase::forward;
  bool is_update = false;
  Seconds time{};  ///< time of all runs of the problem in a micro-batch
  Provenance source = Provenance::roofline;
};

/// The costs of one layer in detail: the kernels and exchanges add up to the layer's LayerCosts.
struct LayerDetail {
  LayerShard shard;
  std::vector<TimedKernel> kernels;
  std::vector<TimedExchange> exchanges;
  Provenance update_source = Provenance::roofline;
  std::vector<TimedProblem> problems;  ///< kernels and update as problems; empty if times of unsplit layers are scaled
};

/// Layers [first, last).
struct LayerRange {
  int first = 0, last = 0;
};

/// Kinds of layers. Layers of one kind cost the same under every split that leaves the same layers unsplit, so each kind is
/// estimated once.
struct LayerKinds {
  ReplicatedLayers replicated;
  std::vector<int> kind;            ///< the kind of each layer
  std::vector<int> representative;  ///< one layer of each kind
  std::vector<double> count;        ///< number of layers of each kind
  LayerRuns runs;                   ///< the kinds of all layers, as repeated periods
  /// Runs of consecutive layers that belong to the same block, or to no block: the first layer of each run, and the layer
  /// count.
  std::vector<int> block_runs;
  std::vector<std::size_t> block_run_class;  ///< runs of one class have the same memory requests
  std::vector<LayerRange> outside;           ///< runs of layers outside of blocks
};

[[nodiscard]] LayerKinds layer_kinds(const ModelFacts& facts, const std::vector<LayerTimes>& serial,
                                     const ReplicatedLayers& replicated,
                                     SelectiveRecompute selective = SelectiveRecompute::attention);

/// Kernel time of one rank's part of a layer, forward and backward, before fitted factors are applied.
[[nodiscard]] Seconds kernels_time(const Job& job, const ShardContext& context, const LayerShard& shard);

/// Costs of all layers under one split. The sum over a range of layers is the difference of two running sums. The costs
/// depend only on the plan's degrees, micro-batch and placement.
class LayerCostTable {
 public:
  /// With `with_slopes`, LayerCosts::slopes are computed as well, which a search does not need.
  LayerCostTable(const Job& job, const Plan& plan, const LayerKinds& kinds, bool with_slopes = false);

  /// Recomputes the exchange times for ranks laid out in another order; nothing else depends on the order.
  void place(const Placement& placement);

  /// Returns the costs of layers [first, last). The reference is valid until the next call of place().
  [[nodiscard]] const LayerCosts& between(int first, int last) const;
  [[nodiscard]] const LayerCosts& total() const { return total_; }
  [[nodiscard]] const LayerCosts& at(int layer) const;
  /// Computes and returns one rank's part of a layer.
  [[nodiscard]] LayerShard shard(int layer) const;
  /// Returns the memory requests of a layer.
  [[nodiscard]] const LayerMemory& memory(int layer) const { return memory_[static_cast<std::size_t>(kind(layer))]; }
  /// Returns the details of at(layer) for reports. Each call computes them anew. With `with_problems`, the problems are
  /// included.
  [[nodiscard]] LayerDetail detail(int layer, bool with_problems = true) const;
  /// Returns the kind of a layer. Layers of one kind cost the same.
  [[nodiscard]] int kind(int layer) const { return kinds_.kind[static_cast<std::size_t>(layer)]; }
  /// Returns the load of all layers before this one; only for a plan with a pipeline.
  [[nodiscard]] StageLoad load_before(int layer) const;
  /// Returns the number of parameters of the layer in [first, last) that has the most. The variant for trained parameters
  /// counts only those with gradients.
  [[nodiscard]] double largest_layer(int first, int last) const { return largest(first, last, LayerCount::parameters); }
  [[nodiscard]] double largest_trained(int first, int last) const { return largest(first, last, LayerCount::trained); }
  /// Returns the gradients that layers with these costs exchange, in messages as the measured software forms them.
  [[nodiscard]] std::vector<GradientGroup> gradients(const LayerCosts& costs) const;
  /// Returns the bytes per rank that one micro-batch sends across a cut before `layer`.
  [[nodiscard]] Bytes cut_bytes(int layer) const;
  [[nodiscard]] const LayerKinds& kinds() const { return kinds_; }
  [[nodiscard]] const ExchangeTimes& exchanges() const { return exchanges_; }
  [[nodiscard]] const Learned& learned() const { return learned_; }
  [[nodiscard]] bool has_slopes() const { return with_slopes_; }

 private:
  /// An exchange of one kind of layer, whose time is still to be computed.
  struct PendingExchange {
    std::size_t kind = 0;
    Exchange exchange;
    Bytes message{};
  };

  /// Adds the parameters of a gradient exchange to the group of its axes.
  void add_gradients(const ShardContext& context, const Exchange& exchange, LayerCosts& costs);
  /// Returns the exposed time of an exchange, which is not overlapped with kernels.
  [[nodiscard]] Seconds time_of(const PendingExchange& pending) const;
  [[nodiscard]] static StageLoad load_of(const LayerCosts& costs);
  [[nodiscard]] double largest(int first, int last, LayerCount count) const;
  const Job& job_;
  Plan plan_;
  const LayerKinds& kinds_;
  bool with_slopes_ = false;
  Learned learned_;
  std::vector<PendingExchange> pending_;
  std::vector<Family> gradient_axes_;  ///< axes of each gradient group
  ExchangeTimes exchanges_;
  std::vector<LayerCosts> costs_;    ///< by kind
  std::vector<LayerMemory> memory_;  ///< by kind
  LayerCosts total_;
  mutable RunSums<LayerCosts> sums_;  ///< computed when pipeline stages are cut
  /// Results of between(), by the first layer and the last. The plans of one split request the same ranges.
  mutable std::unordered_map<std::uint64_t, LayerCosts> ranges_;
  mutable RunSums<StageLoad> loads_;
};

}  // namespace ddl
