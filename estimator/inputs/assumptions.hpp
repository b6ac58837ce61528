#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"
#include "model_zoo/network/optimizer_passes.hpp"

namespace ddl {

/// How samples reach the ranks of one split group: one leader reads and sends them to the others, or every rank reads for
/// itself.
enum class InputMode { leader, every_rank };

/// What mixed precision keeps of weights and gradients.
enum class MixedPrecision {
  half_gradients,  ///< both in half precision, plus a master copy of 4 bytes: 16 bytes a parameter with Adam [Raj20]
  full_gradients,  ///< gradients are added up in 4 bytes, as Megatron-LM does: 18 bytes with Adam [Kort22]
  autocast,        ///< PyTorch's: both in 4 bytes, and what matrix operations read as copies in half precision
  /// Gradients in half precision are added to others in 4 bytes, which stay whole on each rank: 20 bytes with Adam, 12 of
  /// them sharded [DeepSpeed, deepspeed/runtime/bf16_optimizer.py].
  accumulated,
};

/// Whether gradients are summed in 4 bytes with weights in half precision.
[[nodiscard]] constexpr bool sums_in_full(MixedPrecision mixed) {
  return mixed == MixedPrecision::full_gradients || mixed == MixedPrecision::accumulated;
}

/// What options and files call them, in the order of the enumeration.
inline constexpr EnumNames<MixedPrecision> mixed_precision_names{"half", "full", "autocast", "accumulated"};

/// In which precision ranks sum gradients.
enum class GradientSums { half, full };
inline constexpr EnumNames<GradientSums> gradient_sums_names{"half", "full"};

/// In which order images lie in memory.
enum class MemoryFormat {
  channels_last,  ///< as kernels of matrix units read them
  /// PyTorch's default. Kernels of matrix units work on copies: each convolution copies what it reads and what it writes
  /// once [NVIDIA, Convolutional Layers User's Guide, section 3.1.1, "Tensor layouts"].
  channels_first,
};
inline constexpr EnumNames<MemoryFormat> memory_format_names{"nhwc", "nchw"};

/// How cross entropy in mixed precision comes to its gradient.
enum class CrossEntropy {
  operators,  ///< one after the other: a copy in fp32, its log-softmax, which is kept, and the gradients of both
  in_place,   ///< in one copy in fp32, which becomes the softmax and then the gradient [Megatron-LM,
              ///< megatron/core/tensor_parallel/cross_entropy.py]
  fused,      ///< one kernel each way, as torch.compile makes of it: nothing is written in fp32
};

inline constexpr EnumNames<CrossEntropy> cross_entropy_names{"operators", "in-place", "fused"};

/// Which kernels run attention that never writes its scores.
enum class AttentionKernels { flash1, flash2, flash3, cudnn };
inline constexpr EnumNames<AttentionKernels> attention_kernel_names{"flash1", "flash2", "flash3", "cudnn"};

/// In which precisions elementwise kernels are joined with those before them; `residuals`: dropout alone with the addition
/// behind it, forward, as Megatron-LM's bias_dropout_add_fused_train.
enum class Fusing { none, half, all, residuals };
inline constexpr EnumNames<Fusing> fusing_names{"none", "half", "all", "residuals"};

/// What runs formulas of several operators: the scaled and masked softmax of attention that is not fused, an activation that
/// is written out.
enum class CompositeKernels {
  fused,      ///< one kernel for the formula
  operators,  ///< one for each of its operators, as a framework that runs a program operation by operation
};
inline constexpr EnumNames<CompositeKernels> composite_names{"fused", "operators"};

/// What adds the biases of the last layer of experts, each times its token's weight.
enum class ExpertBiases {
  fused,           ///< the kernel before or behind
  operators,       ///< operators, in the precision of training
  fp32_operators,  ///< operators in fp32, as the weights of tokens are
};
inline constexpr EnumNames<ExpertBiases> expert_bias_names{"fused", "operators", "fp32-operators"};

/// Which kernels of its own a bias has.
enum class BiasKernels {
  fused,      ///< none: those of its layer, or of what is joined with them, do its work
  gradients,  ///< the sum of its gradient
  operators,  ///< its addition and the sum of its gradient
};
inline constexpr EnumNames<BiasKernels> bias_kernel_names{"fused", "gradients", "operators"};

/// What selective recomputation recomputes.
enum class SelectiveRecompute {
  attention,  ///< [Kort22, section 5]
  products,   ///< in blocks, all but attention and the first of each two matrix products, as torchtitan does
};
inline constexpr EnumNames<SelectiveRecompute> selective_recompute_names{"attention", "products"};

/// Which effects the estimate takes into account. The defaults are the physical model; ideal_assumptions() is the projection
/// of [ParaDL, Table III].
struct Assumptions {
  bool linear_kernels = false;      ///< a layer split in p takes 1/p of its time, replicated layers included
  bool contention = true;           ///< φ: flows of one phase share the links they meet on
  bool host_staging = true;         ///< exchanges of the measured software that go through the host are priced so
  bool overlap = true;              ///< gradient communication is overlapped with backward if the software does that
  bool host_launch = true;          ///< the device waits for a host that starts kernels one by one
  bool last_layer_exchange = true;  ///< filter and channel exchange the last layer's output too
  bool slot_pipeline = false;       ///< every slot of a pipeline is as long as the longest stage
  bool ring_only = false;           ///< every collective is one flat ring
  bool optimizer_slots = true;      ///< memory counts the optimizer's state
  /// γ of 2γδ Σ(B(|x|+|y|)+|w|): set, memory is that formula; unset, it is what backward keeps.
  std::optional<double> memory_reuse;
  MixedPrecision mixed_precision = MixedPrecision::half_gradients;
  std::optional<GradientSums> gradient_sums;  ///< nothing: as the gradients lie in memory
  CrossEntropy cross_entropy = CrossEntropy::operators;
  MemoryFormat memory_format = MemoryFormat::channels_last;
  Fusing fusing = Fusing::none;
  CompositeKernels composites = CompositeKernels::fused;
  CompositeKernels sinks = CompositeKernels::fused;  ///< of attention that is fused, but for trained sinks of its softmax
  /// In fp32, and in tf32, convolutions of volumes that lie in channels-last order turn what they read and what they write
  /// [TensorFlow, tensorflow/core/kernels/conv_ops_3d.cc and conv_grad_ops_3d.cc: NHWCToNCHW, NCHWToNHWC], in addition to
  /// the copies of `memory_format`.
  bool copies_volumes = false;
  /// Batch norms whose weights are in half precision are the framework's own kernels, and move as many items a second as in
  /// fp32 [PyTorch, aten/src/ATen/native/Normalization.cpp: those of cuDNN run where the weights are in fp32].
  bool own_half_norms = false;
  BiasKernels convolution_biases = BiasKernels::fused;
  BiasKernels linear_biases = BiasKernels::fused;  ///< and of depthwise convolutions
  /// Of the last layer of experts, whose biases are weighted by the router as their products are.
  ExpertBiases expert_biases = ExpertBiases::fused;
  SelectiveRecompute selective = SelectiveRecompute::attention;
  std::optional<AttentionKernels> attention;  ///< nothing: those that the device's file was fitted to
  /// How the framework runs the optimizer's step; of a list of tensors it is priced as a share of the whole model's.
  UpdateImplementation update = UpdateImplementation::layer;
  /// Bytes a parameter that passes over gradients and weights move in mixed precision in addition to the optimizer's own
  /// kernel: unscaling, the norm, clipping, copies to half precision.
  double beside_update = 0;
  /// PyTorch before 2.0 with CUDA before 11.7: gradients are filled with zeros after the update and stay (`set_to_none` was
  /// off [PyTorch docs, torch.optim.Optimizer.zero_grad, 1.12 and 2.0]), and all kernels of the libraries are loaded at once
  /// (CUDA 11.7 brought lazy loading [CUDA C++ programming guide, "Lazy Loading"]).
  bool older_framework = false;
  /// Communicators that a framework creates in addition to those that a plan uses: of groups that are never used, and of
  /// groups of one rank.
  int idle_communicators = 0;
  /// Before the update of ZeRO-1 and -2 in half precision, a rank joins the gradients of its part in one tensor, and copies
  /// it to fp32 [DeepSpeed, deepspeed/runtime/zero/stage_1_and_2.py, step].
  bool flat_gradients = false;
  /// A stage of a pipeline keeps what it has sent until its backward [DeepSpeed, deepspeed/runtime/pipe/engine.py].
  bool keeps_sent = false;
  /// The engine has communicators in addition to those of the axes: of all ranks, of the ranks of one replica, of
  /// neighboring stages, and of the first and the last stage [DeepSpeed, deepspeed/runtime/pipe/engine.py, topology.py and
  /// p2p.py].
  bool engine_groups = false;
  /// The same algorithm for every gradient exchange, when the user asks for one.
  std::optional<AllreduceAlgorithm> allreduce;
  double parameter_servers = 1;  ///< s of the parameter server
  double sparse_density = 0.01;  ///< share of the gradients a sparse Allreduce sends
  /// How many standard deviations above the median exchanges take, of the coefficients' congestion and of the repetitions of
  /// measured exchanges; the median of the job alone where it is not set.
  std::optional<double> congestion_quantile;
  /// Tokens of the busiest rank of an expert split over the mean of all ranks; 1: all experts are equally popular.
  double expert_imbalance = 1;
  /// Time of the kernels of the slowest device over that of the others, which wait for it; 1: all are equally fast.
  double straggler = 1;
  SecondsPerByte add{};       ///< cost of adding one byte into a partial sum
  bool learned = true;        ///< factors of the software that are fitted to measured runs
  bool include_input = true;  ///< reading and staging of samples
  bool input_overlapped = true;
  InputMode input_mode = InputMode::every_rank;
};

/// Mixed precision of a kind, with cross entropy as the software computes it that does so.
[[nodiscard]] inline Assumptions with_mixed_precision(Assumptions assumptions, MixedPrecision mixed) {
  assumptions.mixed_precision = mixed;
  if (sums_in_full(mixed)) assumptions.cross_entropy = CrossEntropy::in_place;
  return assumptions;
}

/// One α/β level at a time, linear kernels, no overlap, no penalties: [ParaDL, Table III].
[[nodiscard]] inline Assumptions ideal_assumptions() {
  Assumptions ideal;
  ideal.linear_kernels = true;
  ideal.contention = false;
  ideal.host_staging = false;
  ideal.overlap = false;
  ideal.host_launch = false;
  ideal.last_layer_exchange = false;
  ideal.slot_pipeline = true;
  ideal.ring_only = true;
  ideal.optimizer_slots = false;
  ideal.memory_reuse = 1.0;
  ideal.learned = false;
  ideal.include_input = false;
  return ideal;
}

}  // namespace ddl
