#include "estimator/kernels/framework_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "estimator/kernels/device_kernels.hpp"

namespace ddl {
namespace {

// Read from the figures of Dao-AILab/flash-attention @ 0251105a2fb1: medians over 23 shapes on A100 (forward and backward
// together), and over 24 and 34 shapes on H100 (forward).
constexpr double flash1_to_flash2 = 1.8, flash2_to_flash3_forward = 1.55, cudnn_to_flash3_forward = 1.13;
// Shah et al., FlashAttention-3, 2024, section 4.1: 1.5 to 1.75.
constexpr double flash2_to_flash3_backward = 1.6;
// Zadouri et al., FlashAttention-4, 2026, abstract: up to 1.3 times as fast as cuDNN 9.13, which the files of compute
// capability 10 describe. On compute capability 10, `cudnn` means this version, as in the runs of NeMo. Backward of two
// samples of 8,192 tokens and 32 heads of 128 takes 2.3 ms (whitecircle/halo, agent-docs/optimization/flash-attention.md),
// and 2.85 ms by the file of B200.
constexpr double cudnn_to_flash4_forward = 1.3, cudnn_to_flash4_backward = 1.25;

// The only fused kernel of attention in fp32, which PyTorch also runs if tf32 is allowed, is the memory-efficient one. From
// compute capability 8.0 on, it computes each product as three products in tf32 [xFormers, gemm_kernel_utils.h,
// DefaultGemmType: OpMultiplyAddFastF32, also in PyTorch, aten/src/ATen/native/transformers/cuda/mem_eff_attention].
constexpr double products_of_full_precision = 3;
// Inferred from a ViT with 4,096 tokens on an A100, in fp32 and in tf32 (set sc23-vit).
constexpr double memory_efficient_to_flash2 = 1.4;
// In half precision, measured on A100 with heads of 128; assumed elsewhere. Forward: 108 TFLOP/s
// (facebookresearch/xformers#712 and #389), and 225 with FlashAttention-2 (#924). Backward: 75.5 TFLOP/s (#587), and about
// 185 with FlashAttention-2 [figures of Dao-AILab/flash-attention, as above].
constexpr double half_efficient_to_flash2_forward = 2.1, half_efficient_to_flash2_backward = 2.4;

/// Returns the kernels that run on a device if the user asks for `asked`. PyTorch runs cuDNN's kernels on compute capability
/// 10 [PyTorch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, check_prefer_cudnn_attention]; there, cuDNN's kernels
/// are within 3 % of FlashAttention-4 [whitecircle/halo, as above]. FlashAttention-3 is for Hopper, and FlashAttention-4 is
/// as fast on Hopper.
AttentionKernels kernels_on(double capability, AttentionKernels asked) {
  const bool is_hopper = capability >= 9 && capability < 10, is_blackwell = capability >= 10 && capability < 11;
  if (asked == AttentionKernels::sdpa) return is_blackwell ? AttentionKernels::flash4 : AttentionKernels::flash2;
  // AMD's library has one kernel for both [ROCm/aotriton].
  if (asked == AttentionKernels::efficient && capability == 0) return AttentionKernels::flash2;
  if (asked != AttentionKernels::flash3 && asked != AttentionKernels::flash4) return asked;
  if (asked == AttentionKernels::flash4 && is_blackwell) return asked;
  return is_hopper ? AttentionKernels::flash3 : AttentionKernels::flash2;
}

/// Returns the time of attention, divided by the time with FlashAttention-2.
double relative_time(AttentionKernels kernels, bool has_flash3, Pass pass) {
  if (kernels == AttentionKernels::flash1) return flash1_to_flash2;
  if (kernels == AttentionKernels::efficient)
    return pass == Pass::forward ? half_efficient_to_flash2_forward : half_efficient_to_flash2_backward;
  if (kernels == AttentionKernels::flash2 || !has_flash3) return 1;
  if (pass != Pass::forward) return 1 / flash2_to_flash3_backward;
  return (kernels == AttentionKernels::cudnn ? cudnn_to_flash3_forward : 1) / flash2_to_flash3_forward;
}

constexpr double wide = 4;  ///< bytes of an element in fp32

/// Returns the elements that each operator of a root-mean-square norm reads and writes for each element of its tensor. In
/// fp32, nothing is converted. Backward-data has the gradients of the scale, of both factors of the product with the inverse
/// root, of the square and of the mean, and the sum of both gradients of x.
std::span<const double> mean_square_operators(Pass pass, bool is_mixed) {
  static constexpr std::array forward{2.0, 2.0, 1.0, 2.0};
  static constexpr std::array forward_mixed{3.0, 4.0, 2.0, 4.0, 3.0, 2.0};
  static constexpr std::array data{2.0, 2.0, 3.0, 1.0, 2.0, 2.0, 1.0, 3.0, 3.0};
  static constexpr std::array data_mixed{2.0, 3.0, 4.0, 6.0, 2.0, 4.0, 4.0, 2.0, 6.0, 6.0, 3.0};
  static constexpr std::array weight{3.0, 1.0};
  if (pass == Pass::backward_weight) return weight;
  if (is_mixed) return pass == Pass::forward ? std::span<const double>(forward_mixed) : data_mixed;
  return pass == Pass::forward ? std::span<const double>(forward) : data;
}

/// Returns these elements for rotary positions: the negative half, the concatenation, two products and a sum. Backward pads
/// the gradient of each half with zeros.
std::span<const double> rotary_operators(Pass pass) {
  static constexpr std::array forward{1.0, 2.0, 2.0, 2.0, 3.0};
  static constexpr std::array data{2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0};
  return pass == Pass::forward ? std::span<const double>(forward) : data;
}

/// Returns these elements for a layer norm of TensorFlow 1. Forward: mean, squared difference, its mean, inv = rsqrt·scale,
/// x·inv, mean·inv, shift - mean·inv, and the sum. Backward-data has the gradients of both factors of each product (those of
/// the small ones are sums), of the mean and of the variance, and the sums of the four gradients of x. Backward-weight sums
/// the gradients of shift and, after a product, of scale.
std::span<const double> layer_norm_operators(Pass pass) {
  static constexpr std::array forward{1.0, 2.0, 1.0, 1.0, 3.0, 2.0, 2.0, 3.0};
  static constexpr std::array data{3.0, 3.0, 2.0, 3.0, 1.0, 2.0, 3.0, 2.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 1.0, 2.0, 4.0};
  static constexpr std::array weight{1.0, 2.0, 1.0};
  if (pass == Pass::backward_weight) return weight;
  return pass == Pass::forward ? std::span<const double>(forward) : data;
}

}  // namespace

bool splits_full_precision(std::optional<AttentionKernels> kernels, const Device& device) {
  const bool has_full_precision = kernels && *kernels != AttentionKernels::cudnn;
  return has_full_precision && device.compute_capability.value_or(0) >= 8 && device.peak_at(Precision::tf32).has_value();
}

std::optional<AttentionKernels> kernels_with_mask(std::optional<AttentionKernels> asked, const Device& device) {
  if (asked != AttentionKernels::sdpa) return asked;
  const double capability = device.compute_capability.value_or(0);
  return capability >= 10 && capability < 11 ? AttentionKernels::cudnn : AttentionKernels::efficient;
}

double attention_factor(std::optional<AttentionKernels> asked, const Device& device, Pass pass, Precision precision) {
  const double capability = device.compute_capability.value_or(0);
  const bool has_flash3 = capability >= 9 && capability < 10;
  if (!asked) return 1;
  if (precision == Precision::tf32 && splits_full_precision(asked, device)) {
    const double flash2 = attention_factor(AttentionKernels::flash2, device, pass, Precision::bf16);
    return flash2 * memory_efficient_to_flash2 * products_of_full_precision;
  }
  const bool has_flash2 = capability == 0 || capability >= 8;
  if (!has_flash2) return flash1_to_flash2;
  const AttentionKernels kernels = kernels_on(capability, *asked);
  if (device.kernels) {
    const double own = pass == Pass::forward ? device.kernels->flash2.forward : device.kernels->flash2.backward;
    if (own != 1 && kernels == AttentionKernels::flash2) return own;
    if (own != 1 && kernels == AttentionKernels::efficient) return own * relative_time(kernels, false, pass);
    // No measurement of FlashAttention-1 on such a device is known. It is not faster than FlashAttention-2.
    if (own != 1 && kernels == AttentionKernels::flash1) return std::max(own, flash1_to_flash2);
    if (own != 1 && kernels == AttentionKernels::flash4)
      return 1 / (pass == Pass::forward ? cudnn_to_flash4_forward : cudnn_to_flash4_backward);
  }
  const AttentionKernels fitted = has_flash3 && pass == Pass::forward ? AttentionKernels::flash3 : AttentionKernels::flash2;
  return relative_time(kernels, has_flash3, pass) / relative_time(fitted, has_flash3, pass);
}

double block_sum_time(NormSums sums, const Work& work, double bytes, const DevicePeaks& peaks) {
  // Inferred, in bytes per clock cycle. `blocks`: forward and backward of norms of 512 and 1,024 channels in fp32 on an A100
  // (pytorch/pytorch#87445, test plan). If 5 of the 7 tensors move at the bandwidth of large norms, 16 blocks move 430 GB/s,
  // and 32 blocks 670 to 730 GB/s. `old-blocks`: deit_tiny, vit_small and mixer_b16 on an RTX 3090 take 3.1, 2.6 and 2.0 ms
  // longer for each norm with PyTorch 1.10 than with 1.11 (huggingface/pytorch-image-models,
  // results/benchmark-train-amp-nchw-pt110-cu113-rtx3090.csv and -pt111-); ResNets take as long.
  constexpr double block_channels = 32, bytes_per_cycle = 17, old_bytes_per_cycle = 3.5;
  if (sums == NormSums::device || work.summed_channels <= 0 || peaks.multiprocessors <= 0) return 0;
  // The time is that of a block with all of its 32 channels.
  const double blocks = std::clamp(work.summed_channels / block_channels, 1.0, std::max(1.0, peaks.multiprocessors));
  const double rate = sums == NormSums::blocks ? bytes_per_cycle : old_bytes_per_cycle;
  return bytes / (blocks * rate * peaks.cycle_rate / peaks.multiprocessors);
}

bool has_bias_kernel(const Work& work, Pass pass, BiasKernels convolutions, BiasKernels linear) {
  const BiasKernels kernels = work.bias == Work::Bias::convolution ? convolutions : linear;
  return kernels == BiasKernels::operators || (kernels == BiasKernels::gradients && pass != Pass::forward);
}

double weighted_bias_items(Pass pass, bool in_fp32) {
  const double item = in_fp32 ? 2 : 1;         // bytes of an element of these operators, relative to an element of y
  const double copy = in_fp32 ? item + 1 : 0;  // traffic of a conversion between the two precisions
  switch (pass) {
    case Pass::forward:
      // There are four kernels. The first writes p·b. The second reads p·b and y and writes their
      // sum. The third concatenates the outputs. The fourth converts the outputs.
      return item + (item + 1 + item) + 2 * item + copy;
    case Pass::backward_data:
      // The gradient is converted to fp32, and the gradient for y is converted back. The gradients
      // of y are concatenated. The product with b is formed and summed.
      return 2 * copy + 2 + 3 * item;
    case Pass::backward_weight:
      return 3 * item;
    case Pass::update:
      break;
  }
  return 0;
}

std::vector<Work> with_wide_softmax(std::vector<Work> kernels, Pass pass, bool is_autocast) {
  const auto is_of = [](KernelKind kind) { return [kind](const Work& work) { return work.kernel_kind() == kind; }; };
  const auto softmax = std::find_if(kernels.begin(), kernels.end(), is_of(KernelKind::softmax));
  if (softmax == kernels.end() || std::none_of(kernels.begin(), kernels.end(), is_of(KernelKind::matrix_product)))
    return kernels;
  const double more = wide / 2 - 1;  // additional traffic of an element in fp32, in elements of half precision
  // Forward reads and writes each score. Backward reads two tensors and writes one. Each softmax has the same number of
  // scores.
  const double scores = softmax->activation_items / (pass == Pass::forward ? 2 : 3);
  const Work converted{.activation_items = (2 + more) * scores, .is_separate = true, .kind = KernelKind::elementwise};
  std::size_t steps = 0;
  for (Work& work : kernels) {
    const KernelKind kind = work.kernel_kind();
    if (kind == KernelKind::softmax) {
      work.activation_items += (pass == Pass::forward ? 1 : 2) * more * scores;
      ++steps;
    } else if (is_autocast && kind == KernelKind::dropout) {
      // Dropout reads and writes each score, and reads or writes a mask of one byte.
      work.activation_items += 2 * more * scores;
    }
  }
  kernels.insert(kernels.end(), steps, converted);
  return kernels;
}

std::vector<Work> with_operators(std::vector<Work> kernels, const Operation& operation, Pass pass, bool is_mixed) {
  const bool is_norm = is_mean_square_norm(operation);
  if ((!is_norm && operation.type() != "rotary_embedding") || kernels.size() != 1 || kernels.front().activation_items <= 0)
    return kernels;
  const double items = kernels.front().activation_items / (is_norm && pass == Pass::backward_data ? 3 : 2);
  const std::span<const double> operators = is_norm ? mean_square_operators(pass, is_mixed) : rotary_operators(pass);
  kernels.front().activation_items = operators.front() * items;
  for (const double moved : operators.subspan(1))
    kernels.push_back({.activation_items = moved * items, .is_separate = true, .kind = KernelKind::elementwise});
  return kernels;
}

std::vector<Work> with_composed_layers(std::vector<Work> kernels, const Operation& operation, Pass pass, double items,
                                       bool is_mixed) {
  if (pass == Pass::update) return kernels;
  const bool is_forward = pass == Pass::forward;
  std::vector<Work> more;
  const auto add = [&](std::span<const double> operators, double each) {
    for (const double moved : operators)
      more.push_back({.activation_items = moved * each, .is_separate = true, .kind = KernelKind::elementwise});
  };
  if (operation.type() == "norm" && operation.attribute_values().text("kind") == "layer" && kernels.size() == 1) {
    const std::span<const double> operators = layer_norm_operators(pass);
    kernels.front().activation_items = operators.front() * items;
    add(operators.subspan(1), items);
  }
  // All kernels between the products of attention are in fp32 (with_wide_softmax widens the first ones).
  const bool is_attention = operation.type() == "attention";
  const double between = is_mixed && is_attention ? wide / 2 : 1;
  for (Work& work : kernels) {
    if (work.kernel_kind() == KernelKind::softmax) {
      static constexpr std::array forward{1.0, 1.0};
      static constexpr std::array backward{3.0, 1.0, 2.0};
      const double scores = work.activation_items / (is_forward ? 2 : 3);
      add(is_forward ? std::span<const double>(forward) : backward, between * scores);
    } else if (work.kernel_kind() == KernelKind::dropout) {
      // The kernel of PyTorch reads, writes, and keeps a mask of one byte. TensorFlow's last kernel multiplies by the mask.
      constexpr double fused = 2.5, mask = 0.25, product = 3, scaling = 2;
      const double each = work.activation_items / fused;
      work.activation_items = product * each;
      add(std::array{scaling}, between * each);
      if (is_forward) add(std::array{1.0, 1 + mask, mask + 1}, (is_mixed ? wide / 2 : 1) * each);
    }
  }
  kernels.insert(kernels.end(), more.begin(), more.end());
  return kernels;
}

bool separates_sums(CompiledSums sums, const Device& device) {
  constexpr double triton = 8.0;
  if (!device.compute_capability) return false;
  return sums == CompiledSums::separate || (sums == CompiledSums::ampere_blocks && *device.compute_capability < triton);
}

std::vector<Work> with_separate_sums(std::vector<Work> kernels, const Operation& operation, Pass pass, double items) {
  std::vector<Work> sums;
  const auto add = [&](double moved) { sums.push_back({.activation_items = moved, .kind = KernelKind::elementwise}); };
  if (pass != Pass::forward && pass != Pass::backward_data) return kernels;
  if (operation.type() == "norm") {
    const std::string_view kind = operation.attribute_values().text("kind");
    if (kind == "layer" && pass == Pass::forward) add(items);
    if ((kind == "layer" || kind == "rms") && pass == Pass::backward_data) add(2 * items);
  }
  for (const Work& work : kernels) {
    if (work.kernel_kind() != KernelKind::softmax) continue;
    if (pass == Pass::forward) {
      const double scores = work.activation_items / 2;
      add(scores);
      add(scores);
    } else {
      add(work.activation_items * 2 / 3);
    }
  }
  kernels.insert(kernels.end(), sums.begin(), sums.end());
  return kernels;
}

std::vector<Work> with_wide_adapters(std::vector<Work> kernels, const Operation& operation, Pass pass, double input_items,
                                     bool is_autocast) {
  if (operation.adapters() == 0 || kernels.size() < 2) return kernels;
  // A conversion reads an element of 2 bytes and writes one of 4, or the reverse. Products and scalings are in fp32.
  constexpr double wider = wide / 2, conversion = 1 + wider;
  double converted = pass == Pass::backward_weight ? 0 : operation.adapters() * input_items;
  if (is_autocast) {
    converted *= 2;
  } else {
    for (std::size_t i = pass == Pass::backward_weight ? 0 : 1; i < kernels.size(); ++i) {
      Work& work = kernels[i];
      const bool is_product = work.m > 0,
                 is_scaling = !is_product && pass != Pass::backward_data && i > 0 && kernels[i - 1].m > 0;
      if (is_scaling) converted += work.activation_items / 2;
      // Forward adds a result in fp32 to one in half precision. Backward adds gradients in half precision.
      const bool is_matrix = !is_product && work.weight_items > 0;  // computed from weights of adapters
      work.is_wide = is_product || is_scaling || is_matrix;
      if (!work.is_wide && pass == Pass::forward) work.activation_items *= (1 + 2 * wider) / 3;
    }
  }
  if (converted > 0)
    kernels.push_back({.activation_items = conversion * converted, .is_separate = true, .kind = KernelKind::elementwise});
  return kernels;
}

void fuse_scaling_of_adapters(const Operation& operation, std::vector<Work>& works) {
  if (operation.type() != "fully_connected") return;
  const auto is_elementwise = [](const Work& work) { return work.m <= 0 && work.bias == Work::Bias::none; };
  for (std::size_t i = 0; i + 1 < works.size(); ++i)
    if (is_elementwise(works[i]) && is_elementwise(works[i + 1]))
      works.erase(works.begin() + static_cast<std::ptrdiff_t>(i));
}

Work fused_interaction(Work interaction, Pass pass, double vectors, double output) {
  if (!interaction.is_any()) return interaction;
  constexpr double tile = 16;
  for (double Work::*side : {&Work::m, &Work::n, &Work::k}) interaction.*side = std::ceil(interaction.*side / tile) * tile;
  interaction.activation_items = output + (pass == Pass::forward ? 1 : 2) * vectors;
  return interaction;
}

KernelKind group_kernels(const Work& work, bool has_matrix_units, MemoryFormat format) {
  if (!has_matrix_units) return KernelKind::direct_convolution;
  if (format == MemoryFormat::channels_first) return KernelKind::grouped_convolution;
  constexpr std::array<double, 4> packed{4, 8, 16, 32};
  constexpr double packed_groups = 32;
  const bool fits = std::find(packed.begin(), packed.end(), work.group_inputs) != packed.end() &&
                    work.group_inputs == work.group_outputs && std::fmod(work.groups, packed_groups) == 0;
  return fits ? KernelKind::packed_convolution : KernelKind::direct_convolution;
}

double entropy_bytes(CrossEntropy implementation, Pass pass, bool is_mixed, bool widens) {
  const bool forward = pass == Pass::forward;
  const double item = is_mixed ? 2 : wide;
  const double copy = is_mixed ? item + wide : 0;  // traffic of one conversion
  switch (implementation) {
    case CrossEntropy::operators:
      return widens ? copy + (forward ? 2 : 4) * wide : (forward ? 2 : 4) * item;
    case CrossEntropy::in_place:
      // In forward, an element is read and written for the maximum 1, the subtraction 2, the
      // exponential 2, the sum 1 and the division 2 times; in backward, for the scaling 2 times.
      return copy + (forward ? 8 : 2) * wide;
    case CrossEntropy::compiled:
      // Forward converts the logits, writes exponentials, and divides them. Backward converts the gradient.
      return copy + (forward ? 4 : 0) * wide;
    case CrossEntropy::fused:
    case CrossEntropy::linear:
      break;
  }
  return 2 * item;
}

}  // namespace ddl
