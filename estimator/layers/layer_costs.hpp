#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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
#include "estimator/layers/stage_balance.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/strategies/relayout.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The largest number of different sets of axes along which gradients are summed in one step. Each mesh of a plan with
/// segments has one set.
inline constexpr std::size_t most_gradient_groups = 4;

/// Returns whether selective recomputation recomputes a layer (SelectiveRecompute).
[[nodiscard]] bool is_selected(const ModelFacts& facts, const Assumptions& assumptions, const Plan& plan, int layer);

/// The times of a layer on one rank. Unless stated otherwise, they are for one micro-batch.
enum class LayerTime {
  forward,            ///< forward kernels
  backward,           ///< backward kernels
  input_gradient,     ///< kernels of backward that compute the gradient of the input
  weight_gradient,    ///< kernels of backward that compute the gradients of weights
  selected_forward,   ///< kernels of forward that selective recomputation repeats
  selected_exchange,  ///< layer-wise collectives of forward that selective recomputation repeats
  exchange_forward,   ///< layer-wise collectives of forward
  exchange_backward,
  experts_forward,  ///< part of exchange_forward: the experts' All-to-alls, which dispatch and combine tokens
  experts_backward,
  halo_forward,  ///< exchanges with neighbors, and the gather at the end of a spatial split
  halo_backward,
  update,         ///< unsharded optimizer, once per step
  sharded_update  ///< optimizer sharded among all replicas, once per step
};
/// Numbers of kernels, exchanges and parameters of a layer on one rank.
enum class LayerCount {
  forward_kernels,  ///< number of forward kernels, in units of forward launches
  backward_kernels,
  selected_kernels,   ///< number of kernels that selective recomputation repeats
  forward_exchanges,  ///< number of layer-wise collectives and halos, which also need launches
  backward_exchanges,
  parameters,
  trained,               ///< number of parameters that have gradients
  untouched,             ///< number of trained parameters without a gradient in a step, since gradients are sparse
  whole_matrices,        ///< number of parameters in matrices that the optimizer updates as a whole
  summed_items,          ///< elements of 4 bytes that the optimizer sums over replicas, per step (MatrixUpdate)
  gathered_items,        ///< elements of 4 bytes that the optimizer gathers from replicas, per step
  gradient_messages,     ///< 1 if the layer has a weight matrix, else 0
  whole_parameters,      ///< number of parameters of unsplit matrix layers without positions
  workspaces_estimated,  ///< number of kernels whose scratch memory is estimated from other kernels
  workspaces_unknown     ///< number of kernels whose scratch memory is unknown
};
enum class LayerBytes {
  kept,             ///< activations that are kept for backward
  kept_of_experts,  ///< the part of `kept` that has one row for each token that the rank's experts receive
  input,            ///< input |x| as stored in memory
  output            ///< output |y| as stored in memory
};

/// The costs of one layer on one rank: its shard, and the times of all its problems and exchanges.
struct LayerCosts {
  EnumArray<LayerTime, Seconds> times;
  /// The derivatives of the times with respect to fitted coefficients, in seconds, if the caller
  /// requested them. The derivative of a kernel's time is the time added per unit of
  /// Coefficient::repeated. The derivative of an exchange's time is its start-up time.
  EnumArray<LayerTime, Seconds> slopes;
  EnumArray<LayerCount, double> counts;
  EnumArray<LayerBytes, Bytes> bytes;
  /// For each gradient group of the table, the number of parameters whose gradients are summed along the group's axes.
  std::array<double, most_gradient_groups> gradient_parameters{};
  std::array<double, most_gradient_groups> frozen_parameters{};  ///< for each group, number of parameters without gradients

  [[nodiscard]] Seconds& operator[](LayerTime row) { return times[row]; }
  [[nodiscard]] Seconds operator[](LayerTime row) const { return times[row]; }
  [[nodiscard]] double& operator[](LayerCount row) { return counts[row]; }
  [[nodiscard]] double operator[](LayerCount row) const { return counts[row]; }
  [[nodiscard]] Bytes& operator[](LayerBytes row) { return bytes[row]; }
  [[nodiscard]] Bytes operator[](LayerBytes row) const { return bytes[row]; }

  void add(const LayerCosts& other, double repeats);
  /// Returns the number of parameters whose gradients ranks exchange, over all groups. With
  /// `gathered`, parameters that ranks only gather are included.
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
  Seconds time{};           ///< exposed time of all messages of the exchange
  Bottleneck bottleneck{};  ///< the link that limits the exchange's flows
  Seconds hidden{};         ///< time of all messages behind kernels of the layer, in addition to `time`
};

/// A problem as profiles list it, with its predicted time.
struct TimedProblem {
  std::string line;
  Phase phase = Phase::forward;
  bool is_update = false;
  Seconds time{};  ///< total time of the problem in a micro-batch, over all its repetitions
  Provenance source = Provenance::roofline;
};

/// The costs of one layer in detail. The times of its kernels and exchanges add up to the layer's LayerCosts.
struct LayerDetail {
  LayerShard shard;
  std::vector<TimedKernel> kernels;
  std::vector<TimedExchange> exchanges;
  Provenance update_source = Provenance::roofline;
  std::vector<TimedProblem> problems;  ///< problems of kernels and update; empty if times of unsplit layers are scaled
};

/// The layers from `first` to `last` − 1.
struct LayerRange {
  int first = 0, last = 0;
};

/// The kinds of layers of a model. Layers of one kind cost the same under all splits that leave the
/// same layers unsplit, so each kind is estimated once.
struct LayerKinds {
  ReplicatedLayers replicated;
  std::vector<int> kind;            ///< the kind of each layer
  std::vector<int> representative;  ///< one layer of each kind
  std::vector<double> count;        ///< number of layers of each kind
  LayerRuns runs;                   ///< the kind of each layer, compressed to repeated periods
  /// Layers form runs: consecutive layers of one block, or between two blocks. Contains the first
  /// layer of each run, and at the end the number of layers.
  std::vector<int> block_runs;
  std::vector<std::size_t> block_run_class;  ///< runs of one class have the same memory requests
  std::vector<LayerRange> outside;           ///< runs of layers outside of blocks
  /// The layouts of a plan with segments; empty if all layers have one layout.
  std::vector<LayoutOfMesh> layouts{};
  std::vector<std::size_t> layout{};  ///< layout of each kind; empty if all layers have one layout
  std::vector<Borders> borders{};     ///< tensors of each kind between layouts; empty if all layers have one layout

  [[nodiscard]] std::size_t layout_of(std::size_t kind_number) const { return layout.empty() ? 0 : layout[kind_number]; }
};

[[nodiscard]] LayerKinds layer_kinds(const ModelFacts& facts, const std::vector<LayerTimes>& serial,
                                     const ReplicatedLayers& replicated,
                                     SelectiveRecompute selective = SelectiveRecompute::attention);

/// Returns the kinds of layers of a plan with segments. `of_mesh`: the kinds of layers if all layers are on the mesh of a
/// layout. Layers of one kind have the same layout, and a layer at the border of a layout is a kind of its own.
[[nodiscard]] LayerKinds segment_kinds(const ModelFacts& facts, const Plan& plan, std::vector<LayoutOfMesh> layouts,
                                       const std::vector<const LayerKinds*>& of_mesh);

/// Returns the kinds of layers of a plan that holds tables in several ways. `alike`: the kinds of layers if all tables are
/// held in one way.
[[nodiscard]] LayerKinds table_kinds(const ModelFacts& facts, const Plan& plan, const LayerKinds& alike);

/// Divides the layers of known kinds into runs, which are the layers of one block or the layers between two blocks.
void find_block_runs(const ModelFacts& facts, LayerKinds& kinds);

/// Returns the kernel time of one rank's shard of a layer for forward and backward, before fitted factors are applied.
[[nodiscard]] Seconds kernels_time(const Job& job, const ShardContext& context, const LayerShard& shard);

/// The times of a layer's kernels on one rank for one micro-batch, and their numbers (LayerTime, LayerCount), without
/// factors that are fitted to measured runs.
struct KernelCosts {
  Seconds forward{}, backward{}, input_gradient{}, weight_gradient{};
  double forward_kernels = 0, backward_kernels = 0;
};
/// Returns the costs of the kernels of each kind of layer. They do not depend on replicas, stages and placement.
[[nodiscard]] std::vector<KernelCosts> kernel_costs(const Job& job, const Plan& plan, const LayerKinds& kinds);

/// The costs of all layers under one split. The sum over a range of layers is the difference of two
/// running sums. The costs depend only on the plan's degrees, micro-batch and placement.
class LayerCostTable {
 public:
  /// `with_slopes` also computes LayerCosts::slopes, which a search does not need. `kernels`: the result of kernel_costs();
  /// null: the table computes them. `known`: times of exchanges that the plans of the job share, or null.
  LayerCostTable(const Job& job, const Plan& plan, const LayerKinds& kinds, bool with_slopes = false,
                 const std::vector<KernelCosts>* kernels = nullptr, KnownTimes* known = nullptr);
  /// The table refers to the kinds, which must not be temporary.
  LayerCostTable(const Job&, const Plan&, LayerKinds&&, bool = false, const std::vector<KernelCosts>* = nullptr,
                 KnownTimes* = nullptr) = delete;

  /// Recomputes the exchange times for another order of the ranks. Other costs do not depend on the order.
  void place(const Placement& placement);

  /// Returns the costs of layers [first, last). The reference is valid until the next call of place().
  [[nodiscard]] const LayerCosts& between(int first, int last) const;
  [[nodiscard]] const LayerCosts& total() const { return total_; }
  [[nodiscard]] const LayerCosts& at(int layer) const;
  /// Returns the time of the exchanges of a layer for one micro-batch, without gradients and without overlap, if its tensors
  /// have these borders. Null: no borders.
  [[nodiscard]] Seconds exchange_time_with(int layer, const Borders* borders) const;
  /// Returns the memory requests of a layer.
  [[nodiscard]] const LayerMemory& memory(int layer) const { return memory_[static_cast<std::size_t>(kind(layer))]; }
  /// Returns the details of a layer for reports. Each call recomputes the details. `with_problems` includes the problems.
  [[nodiscard]] LayerDetail detail(int layer, bool with_problems = true) const;
  /// Returns the kind of a layer. Layers of one kind cost the same.
  [[nodiscard]] int kind(int layer) const { return kinds_.kind[static_cast<std::size_t>(layer)]; }
  /// Returns the load of all layers before `layer`; only for a plan with a pipeline.
  [[nodiscard]] StageLoad load_before(int layer) const;
  /// Returns the number of parameters of the largest layer in [first, last). `largest_trained`
  /// returns the largest number of parameters with gradients.
  [[nodiscard]] double largest_layer(int first, int last) const { return largest(first, last, LayerCount::parameters); }
  [[nodiscard]] double largest_trained(int first, int last) const { return largest(first, last, LayerCount::trained); }
  /// Returns the gradients that layers with these costs exchange, in messages as the software forms them. `blocks`: the
  /// number of the model's blocks among these layers.
  [[nodiscard]] std::vector<GradientGroup> gradients(const Plan& plan, const LayerCosts& costs, double blocks) const;
  /// Returns the bytes per rank that one micro-batch sends across a cut before `layer`.
  [[nodiscard]] Bytes cut_bytes(int layer) const;
  [[nodiscard]] const LayerKinds& kinds() const { return kinds_; }
  /// Returns the exchanges on the mesh of a layout.
  [[nodiscard]] const ExchangeTimes& exchanges(std::size_t layout = 0) const { return layouts_[layout]->exchanges; }
  /// Returns the mesh of a layout.
  [[nodiscard]] const Mesh& mesh(std::size_t layout) const { return layouts_[layout]->plan.mesh; }
  [[nodiscard]] const Learned& learned() const { return layouts_.front()->learned; }
  [[nodiscard]] bool has_slopes() const { return with_slopes_; }

 private:
  /// An exchange of layers of one kind, before its time is computed.
  struct PendingExchange {
    std::size_t kind = 0;
    Exchange exchange;
    Bytes message{};
  };

  /// The plan with all layers on the mesh of a layout, and the exchanges on this mesh.
  struct Layout {
    Layout(const Job& job, const Plan& a_plan, KnownTimes* known)
        : plan(a_plan), exchanges(plan, job.machine, job.coefficients, job.assumptions, known) {
      if (job.assumptions.learned) learned = learned_of(job.coefficients.learned, plan.mesh.family());
    }
    Plan plan;
    Learned learned;
    ExchangeTimes exchanges;
  };
  [[nodiscard]] const Layout& layout_of(std::size_t kind) const { return *layouts_[kinds_.layout_of(kind)]; }
  /// Returns the inputs with which strategies divide a layer.
  [[nodiscard]] ShardContext context_of(int layer) const;
  /// Adds the parameters of a gradient exchange to the group of its axes.
  void add_gradients(const ShardContext& context, std::size_t layout, const Exchange& exchange, LayerCosts& costs);
  /// Returns whether an exchange is one of tables of a recommendation model.
  [[nodiscard]] bool is_of_tables(const PendingExchange& pending) const;
  /// Computes the share of the exchanges of tables that other layers hide.
  void hide_table_exchanges();
  /// Returns the number of pieces of the tokens for each of which the layers of a kind run their kernels and exchanges.
  [[nodiscard]] double pieces_of(std::size_t kind) const;
  /// Returns the time of an exchange, or of the exchanges of all pieces of the tokens.
  [[nodiscard]] Seconds whole_time_of(const PendingExchange& pending) const;
  /// Returns the exposed time of an exchange, which is not overlapped with kernels.
  [[nodiscard]] Seconds time_of(const PendingExchange& pending) const;
  [[nodiscard]] static StageLoad load_of(const LayerCosts& costs);
  [[nodiscard]] double largest(int first, int last, LayerCount count) const;
  const Job& job_;
  Plan plan_;
  const LayerKinds& kinds_;
  bool with_slopes_ = false;
  double pieces_ = 1;  ///< token_pieces()
  std::vector<std::unique_ptr<Layout>> layouts_;
  std::vector<PendingExchange> pending_;
  std::array<double, 2> hidden_of_tables_{};  ///< in forward and in backward: the hidden share of exchanges of tables
  std::vector<std::pair<std::size_t, Family>> gradient_axes_;  ///< layout and axes of each gradient group
  std::vector<LayerCosts> costs_;                              ///< by kind
  std::vector<LayerMemory> memory_;                            ///< by kind
  LayerCosts total_;
  mutable RunSums<LayerCosts> sums_;  ///< computed when pipeline stages are cut
  /// Results of between(), by the first layer and the last. The plans of one split request the same ranges.
  mutable std::unordered_map<std::uint64_t, LayerCosts> ranges_;
  mutable RunSums<StageLoad> loads_;
};

}  // namespace ddl
