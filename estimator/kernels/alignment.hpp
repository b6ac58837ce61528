#pragma once

#include <vector>

#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"
#include "estimator/kernels/kernel_form.hpp"

namespace ddl {

/// Returns whether a product of a layer loads rows that are not multiples of 8 bytes. Products of 5124 × 9124 × 2560 in half
/// precision, whose rows are multiples of 8 but not of 16 bytes, reach the rate of matrix units on V100 and T4 [DeepBench].
/// A head with 50,257 words loads other rows in backward: the gradients of the logits. Its forward pass only writes them.
/// `item_bytes`: bytes of an element. `padded`: a length that the software pads, of which a rank may have a part; 0: none.
[[nodiscard]] bool has_unaligned_rows(const KernelShape& shape, Pass pass, double item_bytes, double padded = 0);

/// Returns whether a product with the same unaligned lengths, and with others of a similar size, is among measured kernels.
/// Its measured time then includes the effect of its rows. The pass may differ: tables of products have m, n and k alone.
[[nodiscard]] bool has_measured_lengths(const KernelShape& shape, const std::vector<KernelResidual>& residuals,
                                        double item_bytes);

/// Returns the time per FLOP of products with such rows, in seconds; zero without a limit. Before compute capability 8.0,
/// they run without matrix units: backward of the head of GPT-2 with 50,257 words takes 10, 15 and 13 TFLOP/s on V100, 0.83
/// of the fp32 peak on average [microsoft/DeepSpeedExamples, autotuning/hf: slope of the step time over the micro-batch, for
/// three sizes]. Later devices load narrow rows for matrix units; measurements of their rates contradict each other.
[[nodiscard]] double seconds_per_unaligned_flop(const Device& device, const DevicePeaks& peaks);

}  // namespace ddl
