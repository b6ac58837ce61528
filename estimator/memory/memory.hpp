#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/layer_costs.hpp"

namespace ddl {

/// What memory is for.
enum class MemoryItem { weights, gradients, optimizer, activations, input, workspace, communication, context };
inline constexpr std::size_t memory_item_count = 8;
inline constexpr std::array<MemoryItem, memory_item_count> all_memory_items{
    MemoryItem::weights, MemoryItem::gradients, MemoryItem::optimizer,     MemoryItem::activations,
    MemoryItem::input,   MemoryItem::workspace, MemoryItem::communication, MemoryItem::context};
[[nodiscard]] std::string_view to_string(MemoryItem item);

/// Part of a step of training.
enum class StepPhase { setup, forward, backward, exchange, update };
[[nodiscard]] std::string_view to_string(StepPhase phase);

/// What is in memory at one moment.
struct MemoryState {
  std::array<Bytes, memory_item_count> items{};  ///< as requested
  Bytes allocated{};                             ///< with each request rounded up to what the allocator hands out
  Bytes passing{};                               ///< of the items, scratch memory of the kernel that runs, or of the update

  [[nodiscard]] Bytes operator[](MemoryItem item) const { return items[static_cast<std::size_t>(item)]; }
  [[nodiscard]] Bytes requested() const;
  /// Adds `times` of what is in `after` and not in `before`.
  void add(const MemoryState& before, const MemoryState& after, double times);
};

/// How a number of bytes is known.
enum class MemoryOrigin { measured, modelled, assumed };
[[nodiscard]] std::string_view to_string(MemoryOrigin origin);
struct MemoryBreakdown;
/// measured: on this device, by a profile; modelled: follows from the graph by rules; assumed: reported of other machines,
/// or a bound.
[[nodiscard]] MemoryOrigin origin_of(const MemoryBreakdown& memory, MemoryItem item);

/// Beside so much that is allocated, what the allocator may hold in blocks that nothing fits: for upper bounds.
[[nodiscard]] Bytes most_unusable(Bytes allocated);

/// Bytes of one rank, by what they are for, where their sum is largest.
struct MemoryBreakdown {
  Bytes weights{}, gradients{}, optimizer{};
  Bytes activations{};    ///< kept for backward, with the gradients of them that exist at the same time
  Bytes input{};          ///< samples
  Bytes workspace{};      ///< of kernels: scratch memory of libraries, and temporaries of the optimizer
  Bytes communication{};  ///< buckets of gradients, buffers of the communication library
  Bytes context{};        ///< of the driver and the libraries' handles
  /// Of the workspace, what was measured of the kernel that runs then.
  Bytes kernel_workspace{};
  /// measured where that was seen of every kernel, modelled where of others of the same families, else assumed.
  MemoryOrigin workspace_origin = MemoryOrigin::assumed;
  /// Of communication, what the framework's allocator does not know of.
  Bytes outside_buffers{};
  /// More that there may be of everything: the upper bound less the total.
  Bytes uncertainty{};

  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + input + workspace + communication + context;
  }
  /// Of the total, what the framework's allocator hands out.
  [[nodiscard]] Bytes allocated() const { return total() - context - outside_buffers; }
  /// The most that the allocator takes of the device, where somebody has asked (Estimator::add_reserved), else allocated().
  /// What is reserved beyond the peak is no part of the total: it goes back to the device where there is no room.
  Bytes peak_reserved{};
  [[nodiscard]] Bytes upper_bound() const { return total() + uncertainty; }
  [[nodiscard]] Bytes& of(MemoryItem item);
  [[nodiscard]] Bytes of(MemoryItem item) const;
  /// The one with most bytes.
  [[nodiscard]] MemoryItem largest() const;
};

/// Bytes per parameter: fp32 keeps 4 for the weight and 4 for the gradient; mixed precision 2 and 2, and a 4-byte master
/// copy counted with the optimizer's slots (16 in all with Adam, [Kort22]).
struct ParameterBytes {
  double weight = 4, gradient = 4, optimizer = 0;
};
[[nodiscard]] ParameterBytes parameter_bytes(Optimizer optimizer, Precision precision,
                                             MixedPrecision mixed = MixedPrecision::half_gradients);

/// Those of a plan for one model: what Adafactor keeps depends on the shapes of its weights.
[[nodiscard]] ParameterBytes parameter_bytes(const ModelFacts& facts, const Plan& plan, MixedPrecision mixed);

/// Memory of the weights, gradients and optimizer state of `parameters` parameters; ZeRO stages 1, 2 and 3 divide the
/// optimizer's, the gradients and the weights among the ranks that hold the same parameters [Rajbhandari et al., SC'20]. Of
/// one layer at a time, of no more than `largest_layer` parameters, the sharded weights and gradients are there whole.
[[nodiscard]] MemoryBreakdown parameter_memory(double parameters, const Plan& plan, double largest_layer,
                                               const ParameterBytes& each);
[[nodiscard]] MemoryBreakdown parameter_memory(double parameters, const Plan& plan, double largest_layer = 0);

/// Whether all gradients exist from the start of a step to its end, as backward adds to them more than once, they lie in one
/// buffer, or the framework keeps them; else backward makes one after the other.
[[nodiscard]] bool has_whole_gradients(const Plan& plan, const Assumptions& assumptions);
/// Of the update, for each parameter, temporaries of all parameters at once: PyTorch's optimizers run over lists of tensors
/// (`foreach`) where they are not fused [PyTorch docs, torch.optim.Adam: about as much memory more as the parameters take].
/// None where the step is asked for as fused, or tensor by tensor.
[[nodiscard]] double update_scratch_bytes(const Plan& plan, const Assumptions& assumptions);

/// Buckets of gradients on their way: a copy of all of them [PyTorch docs, DistributedDataParallel,
/// gradient_as_bucket_view]; with ZeRO one bucket of 5·10⁸ items [DeepSpeed docs, reduce_bucket_size].
[[nodiscard]] Bytes bucket_bytes(double parameters, const Plan& plan, MixedPrecision mixed);
/// Buffers of the communication library, a communicator for each axis along which the plan divides anything: 544 MiB between
/// two ranks, 688 MiB among more, as measured with PyTorch on four A100 [NVIDIA/nccl, issue 964].
struct CommunicationBuffers {
  Bytes expected{}, most{};
};
[[nodiscard]] CommunicationBuffers communication_buffers(const Plan& plan, const Device& device);
/// What the driver and the libraries' handles hold: 300 MB and more with kernels that are loaded when they are needed (CUDA
/// 11.7 and later), 1008 MiB when all were loaded at once [pytorch/pytorch, issues 107667 and 28394].
struct ContextBytes {
  Bytes expected{}, most{};
};
[[nodiscard]] ContextBytes context_bytes(const Device& device, bool all_kernels = false);
/// PyTorch's workspace of cuBLAS: 4096 KiB × 2 and 16 KiB × 8; of compute capability 9, 10 and 12 32 MiB [PyTorch, aten/src/
/// ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize]. Where a sheet does not say the capability the former is
/// expected.
struct LibraryWorkspace {
  Bytes expected{}, most{};
};
[[nodiscard]] LibraryWorkspace library_workspace(const Device& device);

/// Whether a stage of layers [first, last) has a copy of weights that it reads of another: one, however many of its layers
/// read them.
[[nodiscard]] bool is_copied(const TiedLayer& tied, int first, int last);
/// Of a rank of a stage, the copies included.
[[nodiscard]] double stage_parameters(const Job& job, const LayerCostTable& table, int first, int last);

/// What a rank of a stage needs, however many micro-batches are in flight. Not for the closed forms.
struct StagePeaks {
  MemoryState in_backward;   ///< where forward and backward of a micro-batch need most
  Bytes most_in_backward{};  ///< with all that kernels may need
  MemoryState in_update;
  MemoryState earlier;  ///< what each micro-batch before keeps
};
/// Of a stage of layers [first, last).
[[nodiscard]] StagePeaks stage_peaks(const Job& job, const Plan& plan, const LayerCostTable& table, int first, int last);

/// Memory of a rank of stage `stage`, whose layers are [first, last), under the assumptions of the job: where the requests
/// of a step are most (StageRequests). What sizes are rounded up by is with the activations. `peaks`: those of the stage,
/// where they are known.
[[nodiscard]] MemoryBreakdown stage_memory(const Job& job, const Plan& plan, const LayerCostTable& table, int stage,
                                           int first, int last, const StagePeaks* peaks = nullptr);

}  // namespace ddl
