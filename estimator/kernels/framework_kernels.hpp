#pragma once

#include <optional>
#include <span>
#include <vector>

#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_form.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

/// Returns the time of attention with these kernels, divided by the time of the kernels that device files are fitted to:
/// FlashAttention-2, or FlashAttention-3 for forward on a device of compute capability 9.0. Returns 1 if `asked` is unset.
///
/// FlashAttention-2 is about twice as fast as FlashAttention-1 [Dao, FlashAttention-2, 2023, section 4.1: 1.7 to 3.0 times].
/// FlashAttention-3, which needs capability 9.0, is 1.5 to 2 times as fast as FlashAttention-2 in forward and 1.5 to 1.75
/// times in backward [Shah et al., FlashAttention-3, 2024, abstract and section 4.1]. The middle of each range is used.
/// FlashAttention-2 needs capability 8.0 [Dao-AILab/flash-attention, README.md]. Before, all fused kernels are assumed to
/// take as long as FlashAttention-1. A device file may state how long FlashAttention-2 takes relative to its kernels;
/// FlashAttention-1 then takes at least as long.
///
/// None of these kernels computes in full precision. In tf32, where splits_full_precision(), the factor is that of the
/// memory-efficient kernel.
[[nodiscard]] double attention_factor(std::optional<AttentionKernels> asked, const Device& device, Pass pass,
                                      Precision precision);

/// Returns the kernels that run if attention reads a mask. PyTorch runs no FlashAttention then, but cuDNN's or the
/// memory-efficient kernels [PyTorch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp: check_for_attn_mask,
/// check_attn_mask_shape]. All other software is assumed to keep its kernels, and to compute hidden scores as well.
[[nodiscard]] std::optional<AttentionKernels> kernels_with_mask(std::optional<AttentionKernels> asked, const Device& device);

/// Returns whether the fused kernel of attention in fp32 and tf32 computes each product as three products in tf32.
/// Frameworks with FlashAttention run PyTorch's memory-efficient kernel then. cuDNN has no such kernel.
[[nodiscard]] bool splits_full_precision(std::optional<AttentionKernels> kernels, const Device& device);

/// Returns the bytes that a pass of cross entropy moves for each element of the network's output. The output is in half
/// precision if `is_mixed`.
///
/// `operators` (unfused): forward writes a copy in fp32 (only in mixed precision) and the logarithm of its softmax. Backward
/// computes the gradients of the picked logarithms and of the softmax, and copies the softmax's gradient.
///
/// `in_place`: forward works on the fp32 copy: it subtracts the maximum, exponentiates, sums and divides. Backward corrects,
/// scales and copies [Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py].
///
/// `fused`: the output is read twice, then read once more and overwritten by its gradient.
///
/// `widens`: whether operators copy an output in half precision to fp32 (ModelFacts::widens_logits). The other
/// implementations always compute in fp32.
[[nodiscard]] double entropy_bytes(CrossEntropy implementation, Pass pass, bool is_mixed, bool widens);

/// Returns the least time in seconds of the gradients of a layer norm's scale and shift if one thread block sums each 32
/// channels. Few channels then leave multiprocessors idle. 0 for other kernels, and for blocks that fill the device.
/// `bytes`: traffic of the kernel.
[[nodiscard]] double block_sum_time(NormSums sums, const Work& work, double bytes, const DevicePeaks& peaks);

/// Returns whether the framework launches this kernel of a bias.
[[nodiscard]] bool has_bias_kernel(const Work& work, Pass pass, BiasKernels convolutions, BiasKernels linear);

/// Returns the elements that unfused operators move per element y of an expert's output. The operators multiply the expert's
/// bias b by the router's probability p, and add the product to y. Forward computes p·b, the sum, and the concatenation of
/// all experts' tensors. Backward-data concatenates the gradients of y and, for the gradient of p, multiplies the gradient
/// by b and sums. Backward-weight, for the gradient of b, multiplies by p and sums.
///
/// With `in_fp32`, p is in fp32 and y in half precision, and all of these operators work in fp32. Forward then copies the
/// result to half precision. Backward copies the gradient to fp32, and the gradient of y to half precision
/// [NVIDIA/Megatron-LM core_v0.15.0, megatron/core/transformer/moe/experts.py, TEGroupedMLP._apply_bias].
[[nodiscard]] double weighted_bias_items(Pass pass, bool in_fp32);

/// Returns the kernels of an operation whose softmax is in fp32, as under autocast (Assumptions::wide_softmax). A softmax
/// between products in half precision reads half precision and writes fp32, under autocast its dropout runs in fp32, and
/// another kernel converts the result for the next product. Backward converts the gradient of the result to fp32, and the
/// softmax reads this gradient and its output in fp32 [PyTorch, aten/src/ATen/autocast_mode.h, AT_FORALL_FP32_SET_OPT_DTYPE,
/// and aten/src/ATen/native/cuda/SoftMax.cu, half_to_float]. Items of `kernels` are in half precision. An operation without
/// a softmax between products has the same kernels as before. A context split has a softmax for each step.
[[nodiscard]] std::vector<Work> with_wide_softmax(std::vector<Work> kernels, Pass pass, bool is_autocast);

/// Returns the kernels of a pass where layer norms, softmaxes and dropouts are not kernels of their own (CompositeKernels::
/// all_operators), as in TensorFlow 1. A layer norm is two means, a squared difference, and the scale and shift of a batch
/// norm with factors of the whole tensor's size. A softmax reads its scores three times; its gradient is two products, a sum
/// and a difference. Dropout compares random numbers with its rate, scales its input and multiplies by the mask. Random
/// numbers, and all that is between two products of attention, are in fp32 [TensorFlow 1.15, tf.contrib.layers.layer_norm,
/// tf.nn.moments, tf.nn.batch_normalization, tf.nn.dropout; python/ops/nn_grad.py, _SoftmaxGrad;
/// core/kernels/softmax_op_gpu.cu.cc]. `items`: elements of the output. `is_mixed`: they are in half precision.
[[nodiscard]] std::vector<Work> with_composed_layers(std::vector<Work> kernels, const Operation& operation, Pass pass,
                                                     double items, bool is_mixed);

/// Returns the kernels of a pass in compiled code with a kernel for each sum (CompiledSums::separate). A layer norm reads
/// its input for the variance and for the result; the kernel before it sums up the mean. Backward reads the input and the
/// gradient for two sums over channels, and for the result. A softmax reads its scores for the largest one, for the sum
/// of exponentials and for the result, and in backward its output and gradient twice [XLA,
/// service/gpu/instruction_fusion.cc; the first pass that fuses these kernels is service/gpu/softmax_rewriter_triton.cc of
/// 2023]. `items`: elements of the output.
[[nodiscard]] std::vector<Work> with_separate_sums(std::vector<Work> kernels, const Operation& operation, Pass pass,
                                                   double items);

/// Returns whether compiled code has a kernel for each sum of a norm or softmax on a device. Only devices with a
/// compute capability do: the rules are those of XLA for GPUs [XLA, service/gpu].
[[nodiscard]] bool separates_sums(CompiledSums sums, const Device& device);

/// Returns the kernels of a layer with adapters in fp32 whose base is in half precision. `input_items`: the elements of the
/// layer's input. Each adapter converts its input and computes in fp32 (Work::is_wide); the sum of both results is converted
/// back. These products are in fp32 and not in TF32, as PyTorch multiplies by default. Under autocast, products convert the
/// input back to half precision, and later operations stay in half precision [Hugging Face, PEFT,
/// peft/tuners/tuners_utils.py, cast_adapter_dtype; peft/tuners/lora/layer.py, Linear.forward; PyTorch,
/// torch.backends.cuda.matmul.allow_tf32, and aten/src/ATen/autocast_mode.h].
[[nodiscard]] std::vector<Work> with_wide_adapters(std::vector<Work> kernels, const Operation& operation, Pass pass,
                                                   double input_items, bool is_autocast);

/// Returns the kernels of a pass of the operation if each operator of its code is a kernel. A root-mean-square norm computes
/// in fp32. Forward converts, squares, averages, multiplies by the inverse root, converts back and scales; backward has the
/// gradients of these operators. Rotary positions form x·cos + rotated(x)·sin of seven tensors [Hugging Face, transformers,
/// modeling_llama.py: LlamaRMSNorm, rotate_half, apply_rotary_pos_emb; PyTorch, tools/autograd/derivatives.yaml, and
/// pow_backward, mean_backward and slice_backward in torch/csrc/autograd/FunctionsManual.cpp]. All other operations have the
/// same kernels as before. `kernels`: the single kernel of the pass. With `is_mixed`, elements are in half precision.
[[nodiscard]] std::vector<Work> with_operators(std::vector<Work> kernels, const Operation& operation, Pass pass,
                                               bool is_mixed);

/// Compiled code scales the output of an adapter in the kernel that adds it to the output of the layer. `works`: the kernels
/// of the operation, where the scaling comes before the addition.
void fuse_scaling_of_adapters(const Operation& operation, std::vector<Work>& works);

/// Returns the kernel that computes the dot products of a recommendation model's vectors without intermediate tensors: it
/// reads the vectors and, in backward, the gradient of the output, and writes its result. Matrix units multiply vectors that
/// are padded to whole tiles [NVIDIA/DeepLearningExamples, dot_based_interact; HugeCTR, src/layers/interaction_layer.cu].
/// `interaction`: the work of unfused operators. `vectors`, `output`: elements of all vectors and of the output.
[[nodiscard]] Work fused_interaction(Work interaction, Pass pass, double vectors, double output);

/// Returns the type of kernel that runs a grouped convolution with more than one channel per group. Without matrix units and
/// in channels-last order, direct kernels run the convolution. With matrix units and in channels-first order, the groups run
/// one by one. With matrix units and in channels-last order, all groups of a tile run together under three conditions: the
/// number of groups is a multiple of 32, a group has 4, 8, 16 or 32 channels, and there are as many output channels as input
/// channels. Direct kernels run all other convolutions. The rule is inferred from measured times of networks
/// (other-devices.yaml, `packed-groups`).
[[nodiscard]] KernelKind group_kernels(const Work& work, bool has_matrix_units, MemoryFormat format);

}  // namespace ddl
