#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/time_errors.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/layers/pipeline.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/memory/verdict.hpp"
#include "estimator/plan/limit.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/step.hpp"
#include "estimator/step/step_timeline.hpp"

namespace ddl {

/// The time and memory of a plan. An infeasible plan has an estimate too, with its reasons in `limits`.
struct Estimate {
  Plan plan;
  Breakdown time;
  MemoryBreakdown memory;                   ///< of the fullest stage
  Verdict verdict = Verdict::does_not_fit;  ///< about the memory, where the plan was priced
  Limits limits;
  Seconds epoch{};
  double efficiency = 0;      ///< time that one device would need for the iteration, over that of all devices together
  Seconds hidden_exchange{};  ///< gradient communication that is overlapped with backward
  Seconds hidden_input{};
  Seconds host_waiting{};  ///< of the waiting, that for a host which starts kernels slower than the device ends them
  std::string_view gradient_algorithm = to_string(AllreduceAlgorithm::ring);  ///< or `measured`
  double replicated_share = 0;  ///< of the kernel time, spent on work that other ranks do as well
  /// Of the FLOPs of forward of all blocks, those that full recomputation recomputes.
  double recomputed_share = 1;
  CriticalStages critical;
  double imbalance = 0;  ///< longest stage over mean stage, minus one
  /// Of the iteration, and what it depends on; nothing until Estimator::add_intervals.
  std::optional<TimeInterval> interval{};
  std::shared_ptr<const TimeSensitivity> sensitivity{};

  [[nodiscard]] bool feasible() const { return limits.empty(); }
};

struct Explanation;

/// Prices plans of one job. It stores what plans have in common: plans that differ only in schedule or sharding share the
/// prices of their layers. Several threads must not use it at once.
class Estimator {
 public:
  /// Keeps a copy of the job. The parts of the job belong to its maker, or to the job itself (Job::with_machine).
  explicit Estimator(Job job);
  Estimator(const Estimator&) = delete;  // what it has worked out refers to its job
  Estimator& operator=(const Estimator&) = delete;

  /// The step of a possible plan as tasks, whose times know the coefficients that they depend on. A fit to measured runs
  /// uses their exact derivatives.
  struct StepTemplate {
    Step step;
    Updates updates;
  };
  [[nodiscard]] StepTemplate step_template(const Plan& plan) const;
  /// Returns time, memory and limits of a plan. A plan that breaks a limit of its shape is not priced.
  [[nodiscard]] Estimate estimate(const Plan& plan) const;
  /// Returns the estimate taken apart, layer by layer and phase by phase. A plan with more devices than the machine has is
  /// priced too.
  [[nodiscard]] Explanation explain(const Plan& plan) const;
  /// Returns the step of the fullest stage as requests to the allocator of the framework. Returns nothing if the plan has no
  /// price, or if memory is a closed form. If `options` have a capacity, the allocator has what is left of it after
  /// everything outside of the allocator.
  [[nodiscard]] std::optional<MemoryTimeline> memory_timeline(const Plan& plan, const TimelineOptions& options = {}) const;
  /// Returns the parameters of a rank of a stage of a possible plan, as its memory counts them.
  [[nodiscard]] ParameterCounts parameter_counts(const Plan& plan, int stage) const;
  /// Returns the iteration of a plan as slices of its stages. Returns nothing if the plan has no price, or too many slots.
  [[nodiscard]] std::optional<StepTimeline> step_timeline(const Plan& plan) const;
  /// Sets MemoryBreakdown::peak_reserved to the result of a model of the framework's allocator. Reports use it; a search
  /// does not.
  void add_reserved(Estimate& estimate) const;
  void add_reserved(std::vector<Estimate>& estimates) const;
  /// Returns what the time of a plan whose shape is possible depends on, and how much. Reports use it; a search does not.
  [[nodiscard]] TimeSensitivity sensitivity(const Plan& plan) const;
  /// Sets Estimate::interval and Estimate::sensitivity of plans that have a time.
  void add_intervals(Estimate& estimate, const TimeErrors& errors) const;
  void add_intervals(std::vector<Estimate>& estimates, const TimeErrors& errors) const;
  /// Returns the limits that need no pricing.
  [[nodiscard]] Limits limits(const Plan& plan) const;
  /// Returns the limit that a plan of this memory breaks of the memory of a host; nothing if it breaks none.
  [[nodiscard]] std::optional<Limit> host_limit(const Plan& plan, const MemoryBreakdown& memory) const;
  /// Returns only the time of an iteration, of a plan whose shape is possible.
  [[nodiscard]] Seconds iteration(const Plan& plan) const;
  /// Returns only the memory of a plan whose shape is possible. The reference is valid until the next call with another
  /// plan.
  [[nodiscard]] const MemoryBreakdown& memory(const Plan& plan) const;
  /// Returns the first layer of every stage of a possible plan, and the layer count: the cuts with the shortest iteration,
  /// among those that fit if any fits. They depend only on degrees, micro-batches and placement of the plan. The reference
  /// is valid until the next call with another plan.
  [[nodiscard]] const std::vector<int>& stages(const Plan& plan) const;
  /// Returns the largest number of recomputed blocks (Plan::recompute_blocks) that leaves some block of some stage as
  /// it is; 0 if there is none.
  [[nodiscard]] int most_blocks_again(const Plan& plan) const;
  /// Returns a lower bound of an iteration, in seconds, of all plans with these degrees and micro-batches, for any placement
  /// and any other choices.
  [[nodiscard]] Seconds lower_bound(const Plan& plan) const;
  /// Returns the same bound of all plans that have as many micro-batches, stages, parts of the batch, ranks that divide
  /// experts, and parts of a context as this one; the other devices may divide layers in any way. The bound is looked up,
  /// not computed.
  [[nodiscard]] Seconds bare_lower_bound(const Plan& plan) const;
  /// Returns the same bound for this placement alone. It takes longer to compute, and is closer.
  [[nodiscard]] Seconds placed_lower_bound(const Plan& plan) const;
  /// Returns the same bound with the kernels of one rank's part of each layer, for plans that divide layers as this one.
  /// Plans that differ in replicas, stages and placement alone share these kernels, so that it is cheap.
  [[nodiscard]] Seconds split_lower_bound(const Plan& plan) const;
  /// Returns the same bound with priced exchanges, for any cuts of the stages, of plans that divide layers as this one. It
  /// takes still longer, and is closer.
  [[nodiscard]] Seconds uncut_time(const Plan& plan) const;
  /// Returns that bound with the longest of the stages as they are cut; nothing if there are none to cut.
  [[nodiscard]] Seconds cut_time(const Plan& plan) const;
  /// Returns the time without update, gradients and recomputation, with the stages cut. It takes still longer, and is
  /// closer.
  [[nodiscard]] Seconds layers_time(const Plan& plan) const;
  /// Whether the plan's software allocates managed memory, so that smaller micro-batches may save time: what is larger than
  /// the device comes from the host.
  [[nodiscard]] bool may_page(const Plan& plan) const;
  /// Returns a lower bound of the memory of all plans with these degrees, for any sharding and recomputation.
  [[nodiscard]] Bytes memory_lower_bound(const Plan& plan) const;
  /// Returns a lower bound of the memory of parameters, and of what the optimizer keeps of them, in the fullest stage of a
  /// plan of these choices, for any cuts of the stages.
  [[nodiscard]] Bytes parameters_lower_bound(const Plan& plan) const;
  /// Returns whether parameters, and what the first stage keeps for backward, need more memory than that: a bound that costs
  /// little where recomputation is what plans differ in.
  [[nodiscard]] bool keeps_more_than(const Plan& plan, Bytes limit) const;
  /// Returns whether a plan needs more memory than that, without going through steps that do not matter to the answer.
  [[nodiscard]] bool needs_more_than(const Plan& plan, Bytes limit) const;
  [[nodiscard]] const Job& job() const { return job_; }

 private:
  /// Prices a plan whose shape is possible.
  void price(Estimate& estimate) const;
  /// A plan's step and what comes of it but for update and gradients: the same however parameters are sharded.
  struct Staged {
    Step step;
    Timing<double> timing;
    [[nodiscard]] Seconds iteration() const { return Seconds(timing.iteration()); }
  };
  [[nodiscard]] Step step_of(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) const;
  /// Adds how long a stage waits for activations that go to the memory of the host and come back. `own`: its first task.
  void add_activation_traffic(const Plan& plan, int stage, int first, int last, std::size_t own,
                              std::vector<Task>& tasks) const;
  [[nodiscard]] Staged staged(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) const;
  [[nodiscard]] const Staged& staged(const Plan& plan) const;
  /// Returns the time of a whole iteration, with update, gradients and input.
  [[nodiscard]] Timing<double> complete(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts,
                                        const Staged& staged, Updates& updates) const;
  [[nodiscard]] MemoryTimeline timeline_of(const Plan& plan, int stage, const TimelineOptions& options) const;
  [[nodiscard]] std::vector<int> cut(const Plan& plan, const LayerCostTable& costs) const;
  /// Memory of the fullest stage, and which that is.
  struct PeakStage {
    std::vector<int> firsts;
    Schedule schedule{};
    int virtual_stages = 1;
    MemoryChoices choices;
    MemoryBreakdown memory;
    int stage = 0;
    bool has_reserved = false;
  };
  [[nodiscard]] PeakStage& peak_stage(const Plan& plan) const;
  [[nodiscard]] const StagePlaces& places(int stages, const ReplicatedLayers& replicated, double tiles) const;
  [[nodiscard]] ReplicatedLayers replicated_layers_of(const Plan& plan) const;
  /// What a rank of a spatial split needs of managed memory with one micro-batch: its tensors, whole samples of which it
  /// computes a tile, and what its software copies to join the largest tile with its halos.
  [[nodiscard]] Bytes managed_demand(const Plan& plan) const;
  /// The time of one micro-batch in which managed memory passes through the host link, once forward and once backward;
  /// nothing if a rank's demand fits in the device.
  [[nodiscard]] Seconds paging(const Plan& plan) const;
  [[nodiscard]] const LayerKinds& kinds_of(const ReplicatedLayers& replicated) const;
  /// The prices of layers under one split, and what was worked out of them.
  struct Split {
    std::uint64_t asked = 0;  ///< when it was last asked for
    Plan plan;                ///< without what the prices do not depend on
    Placement placement{};
    std::unique_ptr<LayerCostTable> costs;
    /// The cuts under the current placement, and the stages by recomputation, virtual stages, schedule, offloaded
    /// activations and gathered weights.
    std::optional<std::vector<int>> cuts;
    std::map<std::tuple<Recompute, int, int, Schedule, bool, bool>, Staged> staged;
    /// What an iteration ends with, by what is sharded and offloaded, and whether ranks hold two parts of the layers.
    std::map<std::tuple<int, int, bool, int, Offload, bool>, Updates> updates;
    std::vector<PeakStage> peak_stage;  ///< however it is placed
    /// The peaks of memory by the layers of a stage, choices and held parts; for no parts, what micro-batches keep alone.
    std::map<std::tuple<int, int, MemoryChoices, double>, StagePeaks> peaks;
    /// What these are made of.
    std::map<std::tuple<int, int, PassChoices>, PassPeaks> passes;
    std::map<std::tuple<int, int, MemoryChoices, double>, ResidentPeaks> residents;
  };
  [[nodiscard]] Split& split(const Plan& plan) const;
  /// The prices of layers under one split and placement with their slopes, and of each kind of layer in detail: what the
  /// sensitivities of plans have in common that differ in their other choices.
  struct SlopeTable {
    SlopeTable(const Job& job, const Plan& a_split, const Plan& a_plan, const LayerKinds& kinds)
        : split(a_split), costs(job, a_plan, kinds, true) {}
    Plan split;
    std::optional<Placement> placement{};  ///< of which the prices are
    LayerCostTable costs;
    std::vector<LayerPrices> prices{};  ///< by kind
  };
  [[nodiscard]] const SlopeTable& slope_table(const Plan& plan) const;
  /// Returns pointers to estimates, of which those that share the prices of their layers follow one another.
  [[nodiscard]] static std::vector<Estimate*> by_split(std::vector<Estimate>& estimates);
  [[nodiscard]] const LayerCostTable& table(const Plan& plan) const { return *split(plan).costs; }
  [[nodiscard]] const Updates& updates(const Plan& plan) const;
  /// Returns the numbers of virtual stages that a plan may have, from 1 on.
  [[nodiscard]] const std::vector<int>& stretches_of(const Plan& plan) const;
  /// Forward and backward of the whole model and of the longest of its stages on one device, for that many samples at once;
  /// or of the ranks of a mesh that have the same samples, together.
  struct WholeTime {
    Seconds all{}, longest{};
  };
  [[nodiscard]] WholeTime whole_time(double samples, int stages, const Mesh& mesh = {}) const;
  /// Times of one device that computes a batch at once: launching all kernels, and waiting for the host. Or of a rank of a
  /// mesh that has as many samples.
  struct SingleDeviceLaunch {
    Seconds starts{}, idle{};
  };
  [[nodiscard]] const SingleDeviceLaunch& single_device_launch(double batch, const Mesh& mesh = {}) const;
  /// Returns the time in which a rank's host starts the kernels of a micro-batch at least, however layers are divided along
  /// other axes than those of `kernel_axes_of`, and for any exchange of contexts.
  [[nodiscard]] Seconds least_starts(const Plan& plan) const;
  /// Returns a lower bound of the time of all ranks together that have the same samples, for any further split of what ranks
  /// of the mesh have of the layers. By roofline it is the time of that, because each rank reads shared data itself, and no
  /// rank fills its tiles better. Measured parts may be faster than the whole.
  [[nodiscard]] WholeTime least_time(double samples, int stages, const Mesh& mesh) const;
  /// Sums up what `time` says of the part of each layer that a rank of a mesh has, at so many samples, once.
  using Sums = std::map<std::pair<double, Mesh>, std::vector<Seconds>>;
  template <class Time>
  const std::vector<Seconds>& running_sums(Sums& known, double samples, const Mesh& mesh, const Time& time) const;
  [[nodiscard]] WholeTime by_stage(const std::vector<Seconds>& sums, int stages) const;
  /// Kernels, layer-wise exchanges and halos: everything but the gradient exchange; with the exchanges of one placement, or
  /// those of none in particular. `kernels`: of a micro-batch through all stages, where more is known of them than of any
  /// split.
  [[nodiscard]] Seconds layers_lower_bound(const Plan& plan, const ExchangePrices* placed, Seconds kernels) const;
  /// The bound of one placement, with the same `kernels`.
  [[nodiscard]] Seconds placed_lower_bound(const Plan& plan, Seconds kernels) const;
  /// The step of a pipeline without its stages.
  [[nodiscard]] RelaxedStep uncut_step(const Plan& plan) const;
  /// The kernels of one rank for a micro-batch, through all stages.
  [[nodiscard]] Seconds split_kernels(const Plan& plan) const;
  /// The kernels alone, which the host starts: what remains of that bound without exchanges.
  [[nodiscard]] RelaxedStep bare_step(const Plan& plan, double kernels, Seconds starts) const;
  /// The part of the communication of a tensor split that cannot be overlapped, at least.
  [[nodiscard]] double shown_tensor_exchanges(const Plan& plan) const;
  /// Bytes of gradients that the busiest rank exchanges at least; nothing if backward may hide them.
  [[nodiscard]] Bytes shown_gradients(const Plan& plan) const;
  /// A lower bound of the traffic of a spatial split for one sample: messages, items between neighbors, and items that are
  /// gathered where the split ends.
  struct SpatialTraffic {
    double messages = 0, halo_items = 0, gathered_items = 0;
  };
  [[nodiscard]] SpatialTraffic spatial_traffic(const Plan& plan) const;
  /// Items per sample that cross the largest cut of a pipeline at least, however tokens are divided.
  [[nodiscard]] double least_crossing(const Plan& plan) const;
  /// Returns the shortest run for any number of virtual stages.
  [[nodiscard]] Seconds shortest_of_all(RelaxedStep step, const Plan& plan) const;
  /// Layer-wise exchanges and halos that a rank's host starts, of one micro-batch.
  [[nodiscard]] double exchange_starts(const Plan& plan) const;

  const Job job_;
  Seconds serial_update_{};
  /// Items per sample of the inputs and outputs of the matrix layers between the first and the last, and of those of them
  /// that a channel split divides: what layer-wise exchanges move at least.
  double split_collectives_ = 0, split_inputs_ = 0, split_outputs_ = 0, channel_inputs_ = 0, channel_outputs_ = 0;
  double tensor_items_ = 0;             ///< exchanged per sample by a tensor split of a degree that divides every layer
  double tensor_items_of_experts_ = 0;  ///< of those, the ones of experts
  std::int64_t smallest_tensor_units_ = std::numeric_limits<std::int64_t>::max();
  mutable Sums whole_, least_;  ///< running sums of the layers' kernels, by samples and mesh
  using TimesBySamples = std::unordered_map<double, WholeTime>;
  mutable std::map<std::pair<int, Mesh>, TimesBySamples> whole_times_, least_times_;  ///< by stages and mesh
  mutable std::map<std::pair<double, Mesh>, SingleDeviceLaunch> single_device_launch_;
  mutable std::map<Tiles, SpatialTraffic> spatial_;
  mutable std::map<Plan, double> exchange_starts_;
  /// The key: the degrees except replicas and stages; the samples; and the choices that divide layers.
  mutable std::map<std::tuple<Mesh, double, bool, ContextExchange, bool>, Seconds> split_kernels_;
  /// Values that the bounds of plans with the same degrees have in common.
  struct BoundParts {
    explicit BoundParts(const Plan& a_split) : split(a_split) {}
    Plan split;  ///< of which, with one micro-batch
    Seconds starts{}, alpha{};
    SpatialTraffic traffic;
    SecondsPerByte halo{}, gathered{}, gradients{};  ///< lower bounds of all exchanges
    std::array<SecondsPerByte, axis_count> layer{};
    double kernels = 1, beta = 1;  ///< factors below one that are fitted to measured runs
  };
  [[nodiscard]] const BoundParts& bound_parts(const Plan& plan) const;
  mutable std::optional<BoundParts> bound_parts_;
  mutable std::map<std::tuple<int, ReplicatedLayers, double>, StagePlaces> places_;
  mutable std::map<Tiles, ReplicatedLayers> replicated_layers_;
  mutable std::map<ReplicatedLayers, LayerKinds> kinds_;  ///< by what a spatial split leaves whole
  /// The latest eight: a search goes back and forth between the ways in which plans of a mesh divide layers.
  mutable std::array<Split, 8> splits_;
  mutable std::uint64_t splits_asked_ = 0;
  mutable std::unique_ptr<SlopeTable> slope_table_;  ///< the latest
  mutable std::map<std::pair<int, bool>, std::vector<int>> stretches_;
  /// Exchanges of one plan's degrees under each placement asked for: they do not depend on anything else of the plan.
  struct Placed {
    Placed(const Plan& a_split, const Plan& a_plan, const Job& job)
        : split(a_split), plan(a_plan), exchanges(plan, job.machine, job.coefficients, job.assumptions) {}
    Plan split;  ///< without its batch
    Plan plan;
    ExchangePrices exchanges;
  };
  [[nodiscard]] const ExchangePrices& exchanges_of(const Plan& plan) const;
  mutable std::vector<std::unique_ptr<Placed>> placed_;
  /// Layers that need the same as layers [first, last), the foremost ones: those inside a run of like layers need the same
  /// wherever they begin, but for its first repetition.
  [[nodiscard]] LayerRange foremost_alike(const Plan& plan, int first, int last) const;
  [[nodiscard]] const StagePeaks& peaks_of(const Plan& plan, int first, int last, double parts) const;
  /// What each micro-batch keeps between its forward and its backward: StagePeaks::earlier.
  [[nodiscard]] Bytes kept_of(const Plan& plan, int first, int last) const;
  /// Returns the memory of a stage.
  [[nodiscard]] MemoryBreakdown memory_of(const Plan& plan, int stage) const;
  /// Returns the parameters that the rank of a stage holds, as a multiple of those of the stage.
  [[nodiscard]] double held_parts(const Plan& plan, int stage) const;
  /// Returns the schedules that fill bubbles and that this plan may have.
  [[nodiscard]] std::vector<Schedule> fillers_of(const Plan& plan) const;
};

/// Returns the time per iteration of reading samples into the devices, before overlap; zero if the data sheet of the machine
/// does not describe the storage.
[[nodiscard]] Term input_time(const Job& job, const Plan& plan, const ExchangePrices& exchanges, bool with_slopes = false);
/// Returns whether the disk of a node can hold the data set; true if the size of the disk is not known.
[[nodiscard]] bool fits_local_storage(const Job& job);
/// Returns whether a node keeps all of the data set in its memory once it was read.
[[nodiscard]] bool fits_host_memory(const Job& job);

}  // namespace ddl
