#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/layers/stage_of.hpp"
#include "estimator/layers/zero_parts.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

enum class MemoryItem { weights, gradients, optimizer, activations, input, workspace, communication, context };
inline constexpr std::size_t memory_item_count = enum_count<MemoryItem>();
template <>
inline constexpr EnumNames<MemoryItem> enum_names<MemoryItem>{"weights", "gradients", "optimizer",     "activations",
                                                              "input",   "workspace", "communication", "context"};

enum class StepPhase { setup, forward, backward, exchange, update };
template <>
inline constexpr EnumNames<StepPhase> enum_names<StepPhase>{"setup", "forward", "backward", "exchange", "update"};

/// The contents of memory at one moment, in bytes per memory item (weights, gradients, …).
struct MemoryState {
  std::array<Bytes, memory_item_count> items{};  ///< bytes of each item as requested
  Bytes allocated{};                             ///< bytes with each request rounded up to the allocator's block size
  /// the part of `allocated` that is scratch memory of the running kernel or of the update
  Bytes passing{};

  [[nodiscard]] Bytes operator[](MemoryItem item) const { return items[static_cast<std::size_t>(item)]; }
  [[nodiscard]] Bytes requested() const;
  /// Adds the difference between `after` and `before`, multiplied by `times`.
  void add(const MemoryState& before, const MemoryState& after, double times);
};

enum class MemoryOrigin { measured, modeled, assumed };
template <>
inline constexpr EnumNames<MemoryOrigin> enum_names<MemoryOrigin>{"measured", "modeled", "assumed"};
struct MemoryBreakdown;
/// Returns the provenance of a memory item. `measured`: a profile of this device. `modeled`: rules
/// applied to the model's graph. `assumed`: a value reported for other machines, or a bound.
[[nodiscard]] MemoryOrigin origin_of(const MemoryBreakdown& memory, MemoryItem item);

/// Returns an upper bound of the fragmentation: the bytes of the allocator's blocks that fit no
/// request, in addition to `allocated` bytes. Upper bounds of memory include this bound.
[[nodiscard]] Bytes most_unusable(Bytes allocated);

/// The memory of one rank by item, in bytes, at the moment when the sum of all items is largest.
struct MemoryBreakdown {
  Bytes weights{}, gradients{}, optimizer{};
  Bytes activations{};    ///< activations kept for backward, and their gradients that exist at the same time
  Bytes input{};          ///< samples of the batch
  Bytes workspace{};      ///< scratch memory of library kernels, and temporaries of the optimizer
  Bytes communication{};  ///< buckets of gradients, buffers of the communication library
  Bytes context{};        ///< memory of the driver and of the libraries' handles
  /// The part of `workspace` that belongs to the kernel that runs at the peak.
  Bytes kernel_workspace{};
  /// `measured` if every kernel's workspace was measured, `modeled` if workspaces of kernels of the same families were
  /// measured, otherwise `assumed`.
  MemoryOrigin workspace_origin = MemoryOrigin::assumed;
  /// The part of `communication` that the framework's allocator does not provide.
  Bytes outside_buffers{};
  /// The part of the activations that is offloaded to host memory, which is not part of the total.
  Bytes on_host{};
  /// Difference of the upper bound and the total.
  Bytes uncertainty{};

  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + input + workspace + communication + context;
  }
  /// Returns the part of the total that the framework's allocator provides.
  [[nodiscard]] Bytes allocated() const { return total() - context - outside_buffers; }
  /// The maximum memory that the allocator reserves on the device, if add_reserved has computed it;
  /// else allocated(). The total does not include reserved memory above the peak of allocated
  /// memory, because the allocator returns such memory to the device if memory is short.
  Bytes peak_reserved{};
  [[nodiscard]] Bytes upper_bound() const { return total() + uncertainty; }
  /// Returns the device memory of the process as nvidia-smi shows it, for a device with free
  /// memory. add_reserved must have computed the reserved memory.
  [[nodiscard]] Bytes held() const { return peak_reserved + context + outside_buffers; }
  [[nodiscard]] Bytes& of(MemoryItem item);
  [[nodiscard]] Bytes of(MemoryItem item) const;
  [[nodiscard]] MemoryItem largest() const;
};

/// Bytes per parameter. fp32 needs 4 for the weight and 4 for the gradient. Mixed precision needs 2 and 2, and a 4-byte
/// master copy, which is part of the optimizer's state (16 bytes in total with Adam, [Kort22]).
struct ParameterBytes {
  double weight = 4, gradient = 4, optimizer = 0;
  bool frees_gradients = false;  ///< result of frees_gradients()
  bool is_whole = false;         ///< result of holds_whole()
  double shard = 0;              ///< bytes of a weight in the shard that a rank holds in addition to whole weights
  double frozen_master = 0;      ///< bytes of a frozen weight in fp32, in addition to `weight`; `shard` has its share
};
[[nodiscard]] ParameterBytes parameter_bytes(Optimizer optimizer, Precision precision,
                                             MixedPrecision mixed = MixedPrecision::half_gradients);

/// Returns the bytes per parameter of a plan for one model. The state of Adafactor depends on the shapes of the weights.
[[nodiscard]] ParameterBytes parameter_bytes(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions);

/// Numbers of parameters on a rank.
struct ParameterCounts {
  double all = 0;
  double trained = 0;                             ///< parameters that have gradients and optimizer state
  double largest_layer = 0, largest_trained = 0;  ///< parameters and trained parameters of the largest layer
  double untouched = 0;                           ///< trained parameters without a gradient, since gradients are sparse
};

/// Returns the memory of the weights, gradients and optimizer state of these parameters on a rank.
/// ZeRO stages 1, 2 and 3 shard the optimizer state, the gradients and the weights among the ranks
/// with replicas of the parameters [Rajbhandari et al., SC'20]. Sharded weights and gradients are
/// in memory in full for one layer at a time, with at most `largest_layer` parameters.
[[nodiscard]] MemoryBreakdown parameter_memory(const ParameterCounts& counts, const Plan& plan, const ParameterBytes& each);
/// Returns the memory of a rank on which all parameters are trained.
[[nodiscard]] MemoryBreakdown parameter_memory(double parameters, const Plan& plan, double largest_layer = 0);

/// Returns whether gradients move to host memory as backward makes them, so that the device holds those of the current
/// layer only. They do if the host updates the weights and a rank has the sum of its gradients during backward: with ZeRO-2
/// and ZeRO-3, or without replicas [Ren21, section 4.1; PyTorch docs, fully_shard, CPUOffloadPolicy]. A gradient buffer
/// for all gradients stays on the device [NVIDIA/Megatron-LM, core/optimizer/cpu_offloading].
[[nodiscard]] bool moves_gradients(const Plan& plan, const Assumptions& assumptions);
/// Returns whether the device holds the gradients of the current layer of backward only, since they move to the host, or
/// since backward updates the weights (Assumptions::updates_in_backward).
[[nodiscard]] bool frees_gradients(const Plan& plan, const Assumptions& assumptions);
/// Returns the bytes of moments and projections of an optimizer that projects gradients, per trained parameter. `moment`:
/// bytes of an element of a moment. A projection has the precision of the gradient [jiaweizzhao/GaLore,
/// galore_torch/galore_projector.py, get_orthogonal_matrix].
[[nodiscard]] double projected_state_bytes(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions,
                                           double moment);
/// Returns the temporaries of the update of the largest projected matrix, of which one is updated at a time: its
/// decomposition, or two whole gradients [jiaweizzhao/GaLore, galore_torch/adamw.py, step; zhuhanqing/APOLLO,
/// apollo_torch/apollo.py, step].
[[nodiscard]] Bytes projection_scratch(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions);
/// Returns whether the device holds the weights of two layers at a time, and the host holds all. Weights that ZeRO-3 keeps
/// gathered after forward stay on the device [PyTorch docs, fully_shard, reshard_after_forward].
[[nodiscard]] bool streams_weights(const Plan& plan);

/// Returns whether all gradients exist from the start of a step to its end. They do if backward
/// accumulates into gradients more than once, if gradients lie in one buffer, or if the framework
/// keeps them. Otherwise backward allocates gradients one after the other.
[[nodiscard]] bool has_whole_gradients(const Plan& plan, const Assumptions& assumptions);
/// Returns the bytes of a gradient as backward computes it, before ranks add it to a sum in another precision.
[[nodiscard]] double computed_gradient_bytes(const Plan& plan, const Assumptions& assumptions);
/// Returns the bytes of temporaries per parameter that the update holds for all parameters at once. PyTorch's optimizers run
/// over lists of tensors (`foreach`) unless they are fused [PyTorch docs, torch.optim.Adam: this takes about as much memory
/// as the parameters]. The result is 0 if the user sets a fused update or an update tensor by tensor.
[[nodiscard]] double update_scratch_bytes(const Plan& plan, const Assumptions& assumptions);
/// Returns the bytes per parameter of products that exist from the start of a step until the update. If the optimizer
/// consists of operators of a graph, it multiplies moments, and weights that decay, by constants. The executor runs these
/// products at the start of a step, because their inputs exist [Abadi et al., "TensorFlow", OSDI 2016, section 3.1;
/// google-research/ bert, optimization.py, AdamWeightDecayOptimizer.apply_gradients].
[[nodiscard]] double early_update_bytes(const Plan& plan, const Assumptions& assumptions);
/// Returns how many of `trained` gradients a rank copies into one tensor before the update (Assumptions::flat_gradients).
[[nodiscard]] double flat_gradient_items(const Plan& plan, const Assumptions& assumptions, double trained);

/// Returns the bytes of the buckets in which gradients are exchanged: a copy of all gradients [PyTorch docs,
/// DistributedDataParallel, gradient_as_bucket_view], or with ZeRO one bucket of 5·10⁸ elements [DeepSpeed docs,
/// reduce_bucket_size].
[[nodiscard]] Bytes bucket_bytes(double parameters, const Plan& plan, MixedPrecision mixed);
/// The type of a communicator: all ranks along an axis, data ranks at the same position in each
/// shard group, or one of the framework engine's own groups (Assumptions::engine_groups).
enum class Among { axis, copies_of_shards, all_ranks, replica, neighbours, end_stages };
/// A group of ranks with its own communicator.
struct Communicator {
  Axis axis = Axis::data;
  double ranks = 1;
  Among among = Among::axis;
  Bytes bytes{};  ///< buffers of the communicator on each rank
};
/// The groups of ranks that the engine creates: none, the usual groups, or also groups of stages with copies of tied
/// weights.
enum class EngineGroups { none, untied, tied };
[[nodiscard]] EngineGroups engine_groups_of(const Job& job);
/// Returns the communicators of a plan on its first stage: one for each axis with a degree above
/// one, and the engine's communicators. Empty on CPUs.
[[nodiscard]] std::vector<Communicator> communicators_of(const Plan& plan, const Device& device,
                                                         EngineGroups engine = EngineGroups::none);
/// Returns the buffers of communicators that are never used (Assumptions::idle_communicators). Each
/// unused communicator takes as much memory as the smallest communicator.
[[nodiscard]] Bytes idle_communicator_bytes(int idle, const Device& device);
/// The buffers of the communication library. Each axis with a degree above one has a communicator: 544 MiB for two ranks,
/// 688 MiB for more than two, as measured with PyTorch on four A100 [NVIDIA/nccl, issue 964].
struct CommunicationBuffers {
  Bytes expected{}, most{};
};
[[nodiscard]] CommunicationBuffers communication_buffers(const Plan& plan, const Device& device,
                                                         EngineGroups engine = EngineGroups::none, int idle = 0);
/// The memory of the driver and the library handles. If kernels are loaded when they are needed (CUDA 11.7 and later), the
/// memory is 300 MB and more [pytorch/pytorch, issue 107667]. If all kernels are loaded at once, the memory is the value
/// measured on devices of this compute capability, or 1008 MiB without a measured value [pytorch/pytorch, issue 28394].
struct ContextBytes {
  Bytes expected{}, most{};
};
[[nodiscard]] ContextBytes context_bytes(const Device& device, bool all_kernels = false);
/// Returns the memory of the context under the assumptions of a job. If the framework's allocator takes the device's memory
/// at the start, the context and the libraries get the remaining memory: 300 MB for the driver, and of the rest 5 %, but at
/// least 300 MiB [TensorFlow 1.15, tensorflow/core/common_runtime/gpu/gpu_device.cc, MinSystemMemory; its limit on a V100 of
/// 16 GB is 15,753,943,450 bytes: salesforce/ctrl, issue 43].
[[nodiscard]] ContextBytes context_bytes(const Device& device, const Assumptions& assumptions);
/// PyTorch's workspaces of cuBLAS: 4096 KiB × 2 and 16 KiB × 8, or 32 MiB for compute capability 9, 10 and 12, for each
/// handle; the threads of forward and of autograd's backward have a handle each [PyTorch,
/// aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize and getCurrentCUDABlasHandle]. If a datasheet does not
/// state the capability, the smaller size is assumed.
struct LibraryWorkspace {
  Bytes expected{}, most{};
};
[[nodiscard]] LibraryWorkspace library_workspace(const Device& device);

/// Returns whether a stage of layers [first, last) has a copy of tied weights that another stage
/// owns. A stage has at most one copy, even if several of its layers read the weights.
[[nodiscard]] bool is_copied(const TiedLayer& tied, int first, int last);
/// Returns the number of parameters of a stage on a rank, including copies of tied weights, without
/// StageOf::parts. `trained`: only parameters that have gradients.
[[nodiscard]] double stage_parameters(const StageOf& stage, bool trained = false);
/// Returns the number of micro-batches that follow each other through a pipeline without a gap. If stages do not wait for
/// each other at the end of a step, the micro-batches of the next step follow.
[[nodiscard]] double passing_micro_batches(const Plan& plan, const Assumptions& assumptions);
/// Returns the memory of older versions of a stage's weights: one for each update since the forward of its oldest
/// micro-batch in flight [PipeDream, SOSP 2019, section 3.3; with as many micro-batches in a step as stages, two versions in
/// all: PipeDream-2BW, ICML 2021, section 3.1].
[[nodiscard]] Bytes older_weights(const StageOf& stage);

/// Returns the memory that a rank of FSDP needs in addition to its shards when it saves all weights
/// (Assumptions::saves_whole), in the precision of the shards.
[[nodiscard]] Bytes saved_weights(const StageOf& stage);

/// Returns the inputs of parameter_memory for a stage.
[[nodiscard]] ParameterCounts parameter_counts(const StageOf& stage);
/// The same for the layers of a stage with one ZeRO stage. The plan must not offload. Both results include copies of tied
/// weights that these layers read.
[[nodiscard]] ParameterCounts parameter_counts(const StageOf& stage, const ZeroPart& part);
[[nodiscard]] double part_parameters(const StageOf& stage, const ZeroPart& part, bool trained = false);

/// The choices of a plan that memory depends on, except the division into stages and the schedule.
struct MemoryChoices {
  explicit MemoryChoices(const Plan& plan);
  Recompute recompute;
  std::int64_t recompute_blocks;  ///< number of recomputed blocks per stage
  RecomputeModules recompute_modules;
  std::vector<RecomputeSegment> recompute_segments;
  std::vector<ZeroSegment> zero_segments;
  int zero_stage, shard_group;
  bool reshard;
  double second_shards;
  Offload offload;
  bool offload_activations;
  bool is_interleaved;  ///< whether the head has fewer micro-batches in flight than the blocks of its stage
  friend auto operator<=>(const MemoryChoices&, const MemoryChoices&) = default;
};

/// Returns whether stages have several model chunks, whose forward and backward alternate.
[[nodiscard]] bool is_interleaved(const Plan& plan);

/// Returns whether a rank keeps only its shard of a gradient after backward has computed the gradient.
[[nodiscard]] bool shards_gradients(const Plan& plan);

/// The choices among MemoryChoices that affect the memory of forward and backward. The remaining
/// choices affect only resident memory.
struct PassChoices {
  PassChoices(const Plan& plan, const Assumptions& assumptions);
  Recompute recompute;
  std::int64_t recompute_blocks;
  RecomputeModules recompute_modules;
  std::vector<RecomputeSegment> recompute_segments;
  std::vector<ZeroSegment> zero_segments;
  double gradient_copies;  ///< number of shard groups if backward keeps shards of the gradients; else 0
  bool frees_gradients;
  double gathered_ranks;  ///< number of ranks that gather blocks of weights from each other; else 0
  bool streams_weights;   ///< whether blocks of weights come from the host
  double summed_ranks;    ///< number of ranks that shard gradients which they first add up as a whole; else 0
  bool is_interleaved;
  friend auto operator<=>(const PassChoices&, const PassChoices&) = default;
};

/// The memory that forward and backward of a micro-batch need on a rank of a stage in addition to
/// resident memory, and the memory that stays allocated after backward.
struct PassPeaks {
  MemoryState largest;
  Bytes most{};  ///< maximum with the upper bound of kernel scratch memory
  MemoryState left;
  MemoryState earlier;  ///< the memory that each earlier micro-batch keeps
};
[[nodiscard]] PassPeaks pass_peaks(const StageOf& stage);

/// The resident memory of a rank of a stage: parameters, optimizer state, buckets, workspaces of
/// libraries. Resident memory does not depend on recomputation.
struct ResidentPeaks {
  MemoryState stays;
  /// maximum during the update, without the memory that backward leaves allocated; unset if the update makes no request
  MemoryState in_update;
  MemoryState in_save;        ///< while the rank saves its weights; unset if saving needs no memory
  Bytes most_gathered{};      ///< upper bound of further weights (most_gathered)
  double routing_excess = 0;  ///< upper bound of further tokens of the fullest rank (routing_excess)
};
[[nodiscard]] ResidentPeaks resident_peaks(const StageOf& stage);

/// The memory of a rank of a stage, apart from the number of micro-batches in flight. The closed forms do not use it.
struct StagePeaks {
  StagePeaks() = default;
  StagePeaks(const ResidentPeaks& resident, const PassPeaks& pass);
  MemoryState in_backward;    ///< the maximum during forward and backward of a micro-batch
  Bytes most_in_backward{};   ///< in_backward with the upper bound of kernel scratch memory
  MemoryState in_update;      ///< maximum during the update with all gradients, for any handling of activations
  MemoryState in_save;        ///< while the rank saves its weights
  MemoryState earlier;        ///< the memory that each earlier micro-batch keeps
  Bytes most_gathered{};      ///< upper bound of further weights (most_gathered)
  double routing_excess = 0;  ///< upper bound of further tokens of the fullest rank (routing_excess)
};
[[nodiscard]] StagePeaks stage_peaks(const StageOf& stage);

/// Returns StagePeaks::earlier: the memory that each earlier micro-batch keeps.
[[nodiscard]] MemoryState kept_by_micro_batch(const StageOf& stage);

/// Returns the memory of a rank of a stage at the moment when the requests of a step are largest (StageRequests), under the
/// assumptions of the job. Activations include the rounding of sizes. `peaks`: the peaks of the stage, if known. `mirrored`:
/// what a micro-batch keeps in the mirror stage, if known.
[[nodiscard]] MemoryBreakdown stage_memory(const StageOf& stage, const StagePeaks* peaks = nullptr,
                                           const MemoryState* mirrored = nullptr);

}  // namespace ddl
