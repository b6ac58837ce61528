#pragma once

#include <optional>

#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/machine.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

/// How many times as long attention takes with these kernels as with those that device files are fitted to:
/// FlashAttention-2, and for the forward pass on a device of compute capability 9.0 FlashAttention-3. Nothing asked for: 1.
///
/// FlashAttention-2 is about twice as fast as its predecessor [Dao, FlashAttention-2, 2023, section 4.1: 1.7 to 3.0 times].
/// FlashAttention-3, which needs capability 9.0, is 1.5 to 2 times as fast forward and 1.5 to 1.75 times backward [Shah et
/// al., FlashAttention-3, 2024, abstract and section 4.1]. The middle of each range counts.
[[nodiscard]] double attention_factor(std::optional<AttentionKernels> kernels, const Device& device, Pass pass);

/// Bytes that a pass of cross entropy moves for each item of the network's output, which is in half precision where
/// `is_mixed`. `operators`, one after the other: a copy in fp32 (mixed precision alone), the logarithm of its softmax; back
/// the gradient of the picked logarithms, that of the softmax, and its copy. `in_place`: in the copy, the maximum is taken
/// off, its exponential taken, summed and divided by; back it is corrected, scaled and copied [Megatron-LM,
/// megatron/core/tensor_parallel/cross_entropy.py]. `fused`: the output is read twice, its gradient written over a read.
[[nodiscard]] double entropy_bytes(CrossEntropy implementation, Pass pass, bool is_mixed);

/// Whether the framework launches this kernel of a bias.
[[nodiscard]] bool has_bias_kernel(const Work& work, Pass pass, BiasKernels convolutions, BiasKernels linear);

/// Items that operators move for each item y of an expert's output, where they weigh its bias b by the router's p and add
/// it: p·b, the sum, and the tensors of all experts joined; back the joined gradients of y, the product of the gradient with
/// b and its sum for p (with the data), and that with p and its sum for b (with the weights). `in_fp32`, p is in fp32 and y
/// in half precision: so is all of that, and it is copied to half precision forward, back to fp32, and y's gradient to half
/// precision [NVIDIA/Megatron-LM core_v0.15.0, megatron/core/transformer/moe/experts.py, TEGroupedMLP._apply_bias].
[[nodiscard]] double weighted_bias_items(Pass pass, bool in_fp32);

/// The kind of kernel that runs a convolution of several groups, with more than one channel each. Without matrix units and
/// in channels-last order it multiplies directly. Matrix units run groups one by one in channels-first order. In
/// channels-last order they run those that a tile holds together: multiples of 32 groups of 4, 8, 16 or 32 channels, which
/// write as many as they read. All else is multiplied directly. The rule is inferred from networks that were timed
/// (other-devices.yaml, `packed-groups`).
[[nodiscard]] KernelKind group_kernels(const Work& work, bool has_matrix_units, MemoryFormat format);

}  // namespace ddl
