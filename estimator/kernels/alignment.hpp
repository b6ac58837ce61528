#pragma once

#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_form.hpp"

namespace ddl {

/// Returns whether a product of a layer loads rows that are not whole loads of matrix units, which are 16 bytes [NVIDIA,
/// Matrix Multiplication Background User's Guide]. A head with 50,257 words does in backward, because it loads gradients of
/// the logits. Its forward pass only writes such rows. `item_bytes`: bytes of an element.
[[nodiscard]] bool has_unaligned_rows(const KernelShape& shape, Pass pass, double item_bytes);

/// Returns the time per FLOP of products with such rows, in seconds; zero without a limit. Before compute capability 8.0,
/// they run without matrix units: backward of the head of GPT-2 with 50,257 words takes 10, 15 and 13 TFLOP/s on V100, 0.83
/// of the fp32 peak on average [microsoft/DeepSpeedExamples, autotuning/hf: slope of the step time over the micro-batch, for
/// three sizes]. Later devices load narrow rows for matrix units; measurements of their rates contradict each other.
[[nodiscard]] double seconds_per_unaligned_flop(const Device& device, const DevicePeaks& peaks);

}  // namespace ddl
