#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/layer_traffic.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The effects that a lower bound of the step time takes into account, in the order in which a search requests bounds. Each
/// bound is closer than the bound before it, holds for fewer plans, and takes longer to compute.
enum class Closeness {
  size,       ///< micro-batches, stages, expert degree, and degrees of batch and contexts; looked up in a table
  degrees,    ///< all degrees, for any placement and any other choices
  placement,  ///< also the links of the plan's placement
  exchanges,  ///< also the layer-wise exchanges and halos, for plans that divide layers in the same way
  split,      ///< also the kernels of one rank's shard of each layer
  stages,     ///< also overlap, waiting for the host, and the longest stage, with the plan's actual cuts
  layers      ///< the whole step except update, gradients and recomputation
};

[[nodiscard]] constexpr Closeness next(Closeness closeness) {
  return static_cast<Closeness>(static_cast<int>(closeness) + 1);
}

/// Lower bounds of the time of steps. A search prunes plans by these bounds. Not thread-safe.
class TimeBounds {
 public:
  /// The estimator must outlive this object.
  explicit TimeBounds(const Estimator& estimator);

  /// Returns a lower bound of the step time of all plans that agree with `plan` in every effect
  /// that the bound takes into account. The shapes of the plans must be possible.
  [[nodiscard]] Seconds least(Closeness closeness, const Plan& plan) const;
  /// Returns the bound by degrees for plans whose layer-wise exchanges take at least this time for each sample.
  [[nodiscard]] Seconds by_degrees(const Plan& plan, Seconds exchanges_of_sample) const;
  /// Returns a lower bound of the time of layer-wise exchanges for each sample, for any number of micro-batches, and for
  /// plans with these degrees that have one of these placements and divide layers in this way.
  [[nodiscard]] Seconds exchanges_of_sample(Plan plan, const std::vector<Placement>& placements) const;
  /// The bound by size for a number of micro-batches, with the values to which closer bounds add.
  struct BySize {
    Seconds bound{};
    Seconds busy{}, longest{};  ///< times of a step without exchanges, as in RelaxedStep
    std::int64_t micro_batches = 1;
    bool may_fill_bubbles = false;  ///< whether some schedule fills bubbles
  };
  /// Returns the bounds by size for these numbers of micro-batches, in ascending order; without a pipeline, only the bound
  /// for the first number, which is fastest. They hold for all plans with equal numbers of stages and equal degrees that
  /// divide the batch, experts and contexts.
  [[nodiscard]] std::vector<BySize> by_size(Plan plan, const std::vector<std::int64_t>& micro_batches) const;
  /// Returns the least of the bounds by_degrees() of a plan over numbers of micro-batches, whose bounds by size are given.
  [[nodiscard]] Seconds least_by_degrees(Plan plan, Seconds exchanges_of_sample, const std::vector<BySize>& sizes) const;
  /// Returns a lower bound for all plans that differ from `plan` only in how parameters are sharded
  /// or offloaded. `plan` must not shard or offload parameters.
  [[nodiscard]] Seconds of_step(const Plan& plan) const;
  /// Returns a lower bound for all plans that differ from `plan` only in schedule and virtual stages, in how parameters are
  /// sharded or offloaded, and in further blocks that a stage recomputes. `plan`: as in of_step(), in the order 1F1B without
  /// virtual stages.
  [[nodiscard]] Seconds of_orders(const Plan& plan) const;

 private:
  /// Bounds add up the times of a step in a different order, so sums differ by rounding.
  static constexpr double rounding = 1 - 1e-11;
  /// The factor by which fitted factors may lower a bound: the smallest fitted factor, or 1.
  struct Discount {
    double alpha = 1, beta = 1, kernels = 1;
  };
  [[nodiscard]] Discount discount_of(const Plan& plan) const;
  /// Returns the bound of least() without the time of reading samples, and without a correction for rounding.
  [[nodiscard]] Seconds of(Closeness closeness, const Plan& plan) const;
  /// Adds the time of reading samples to a bound of the remaining time of the step.
  [[nodiscard]] Seconds with_input(Seconds rest, const Plan& plan) const;
  [[nodiscard]] Seconds of_degrees(const Plan& plan, Seconds exchanges) const;
  /// Bounds for the split of a plan. `kernels`: a lower bound of the time of a micro-batch's kernels in all stages. It is
  /// used if it is above the bound that holds for every split.
  struct OfSplit {
    Seconds kernels{}, exchanges{};
  };
  [[nodiscard]] Seconds of_placement(const Plan& plan, const OfSplit& split) const;
  [[nodiscard]] Seconds of_exchanges(const Plan& plan, Seconds kernels) const;
  [[nodiscard]] Seconds of_split(const Plan& plan) const;
  [[nodiscard]] Seconds of_stages(const Plan& plan) const;
  [[nodiscard]] Seconds of_layers(const Plan& plan) const;

  /// Returns a lower bound of the time in which a rank's host launches the kernels of a micro-batch, for any degrees along
  /// axes that are not in `kernel_axes_of`, and for any exchange of contexts.
  [[nodiscard]] Seconds least_launches(const Plan& plan) const;
  /// Kernels, layer-wise exchanges and halos: everything but the gradient exchange.
  struct LayersStep {
    RelaxedStep step;     ///< without exchanges
    Seconds exchanges{};  ///< exchanges of a micro-batch, through all stages
    double kernels = 1;   ///< a factor that lowers kernel times (Parts::kernels)
    double disturbance = 0;
    bool has_exchanges = false;
  };
  /// `placed`: the exchanges of one placement; null for a bound for all placements.
  [[nodiscard]] LayersStep layers_step(const Plan& plan, const ExchangeTimes* placed) const;
  /// The exchanges of a micro-batch as a linear function of its samples.
  struct LinearTime {
    Seconds fixed{}, of_sample{};
  };
  /// Returns a lower bound of the exchanges of layers and halos, for any placement.
  [[nodiscard]] LinearTime exchanges_by_degrees(const Plan& plan) const;
  /// Returns a lower bound of the start-up times of the exchanges of a filter split.
  [[nodiscard]] Seconds starts_of_filters(const Plan& plan) const;
  /// Calls `take(axis, items)` with a lower bound of the elements of a sample that the exchanges along an axis send.
  template <class Take>
  void each_split_of_layers(const Mesh& mesh, const Take& take) const {
    // An Allreduce counts twice. If both a filter split and a channel split divide a layer, each split sums the share
    // that the other one leaves, and gathers the whole tensor.
    if (mesh[Axis::filter] > 1) take(Axis::filter, split_outputs_ + 2.0 * split_inputs_ / mesh[Axis::channel]);
    if (mesh[Axis::channel] > 1) take(Axis::channel, 2.0 * channel_outputs_ / mesh[Axis::filter] + channel_inputs_);
    // A tensor split may leave experts whole, so the elements of experts are not counted.
    if (mesh[Axis::tensor] > 1 && mesh[Axis::tensor] <= smallest_tensor_units_)
      take(Axis::tensor, tensor_items_ - tensor_items_of_experts_);
  }
  /// The bound by a step with what is known of the split.
  [[nodiscard]] Seconds with_split(const LayersStep& layers, const OfSplit& split, const Plan& plan) const;
  /// Lower bound of the gradient exchange that is not overlapped with backward, for any ZeRO stage.
  [[nodiscard]] Seconds least_gradients(const Plan& plan, const ExchangeTimes& exchanges) const;
  /// Returns the step of a pipeline before its layers are cut into stages.
  [[nodiscard]] RelaxedStep uncut_step(const Plan& plan) const;
  /// Returns the time of one rank's kernels for a micro-batch, through all stages.
  [[nodiscard]] Seconds split_kernels(const Plan& plan) const;
  /// Returns the step with only kernels and launches. Its time is the bound without exchanges.
  [[nodiscard]] RelaxedStep bare_step(const Plan& plan, double kernels, Seconds launches, double disturbance) const;
  /// Returns the additional time of the slowest rank, as a share of kernel, layer-wise exchange and halo time.
  [[nodiscard]] double disturbance(const Plan& plan) const;
  /// Returns a lower bound of the gradient bytes that the busiest rank exchanges; zero if backward may hide them.
  [[nodiscard]] Bytes shown_gradients(const Plan& plan) const;
  /// Lower bounds of the traffic of a spatial split for one sample: the number of messages, the elements sent between
  /// neighbors, and the elements gathered at the end of the split.
  struct SpatialTraffic {
    double messages = 0, halo_items = 0, gathered_items = 0;
  };
  [[nodiscard]] SpatialTraffic spatial_traffic(const Plan& plan) const;
  /// Returns a lower bound of the elements per sample that cross the largest cut of a pipeline, for any split of the tokens.
  [[nodiscard]] double least_crossing(const Plan& plan) const;
  /// Returns a lower bound of the time of the gradient exchange that is not overlapped, for any placement.
  [[nodiscard]] Seconds gradients_by_degrees(const Plan& plan) const;
  /// Returns whether this plan may have a schedule that fills bubbles.
  [[nodiscard]] bool may_fill_bubbles(const Plan& plan) const;
  /// Returns whether this plan may have this schedule, and the schedule fills bubbles.
  [[nodiscard]] bool may_fill_bubbles(const Plan& plan, const ScheduleOrder& order) const;
  /// Returns the shortest step time over all numbers of virtual stages, and over schedules that fill bubbles.
  [[nodiscard]] Seconds shortest_of_all(const RelaxedStep& step, const Plan& plan) const {
    return shortest_of(step, steps_.virtual_stages_of(plan), may_fill_bubbles(plan));
  }
  [[nodiscard]] static Seconds shortest_of(RelaxedStep step, const std::vector<int>& chunks, bool may_fill_bubbles);
  /// Values that are equal for the bounds of all plans with the same degrees.
  struct Parts {
    explicit Parts(const Plan& a_split) : split(a_split) {}
    Plan split;  ///< the split that the values refer to, with one micro-batch
    Seconds launches{}, alpha{};
    SpatialTraffic traffic;
    SecondsPerByte halo{}, gathered{}, gradients{};  ///< lower bounds of the time per byte of all exchanges
    std::array<SecondsPerByte, axis_count> layer{};
    double kernels = 1, beta = 1;  ///< fitted factors below one; 1 if no factor is below one
    double disturbance = 0;        ///< TimeBounds::disturbance
  };
  [[nodiscard]] const Parts& parts_of(const Plan& plan) const;
  /// The parts of of_placement() that do not depend on the split.
  struct PlacedParts {
    Plan plan;
    LayersStep layers;
    Seconds gradients{};
  };

  const Job& job_;
  const SplitTables& tables_;
  const PlanSteps& steps_;
  const UndividedTimes& undivided_;
  LayerTraffic traffic_;
  /// The inputs and outputs, in elements per sample, of the matrix layers between the first and the last one, and of those
  /// matrix layers that a channel split divides. They give a lower bound of the traffic of layer-wise exchanges.
  double split_collectives_ = 0, split_inputs_ = 0, split_outputs_ = 0, channel_inputs_ = 0, channel_outputs_ = 0;
  double tensor_items_ = 0;             ///< elements exchanged per sample if the tensor degree divides every layer
  double tensor_items_of_experts_ = 0;  ///< the part of tensor_items_ that belongs to experts
  std::int64_t smallest_tensor_units_ = std::numeric_limits<std::int64_t>::max();
  mutable std::map<Tiles, SpatialTraffic> spatial_;
  /// The key consists of the degrees except replicas and stages, the number of samples, and the choices that divide layers.
  mutable std::map<std::tuple<Mesh, double, bool, ContextExchange, bool>, Seconds> split_kernels_;
  mutable std::optional<Parts> parts_;         ///< parts for the latest degrees
  mutable std::optional<PlacedParts> placed_;  ///< parts for the latest plan
  /// The latest plan whose exchanges were requested, with the time of its layer-wise exchanges.
  mutable std::optional<std::pair<Plan, Seconds>> exchanged_;
};

}  // namespace ddl
