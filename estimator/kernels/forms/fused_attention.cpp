#include "estimator/kernels/forms/forms.hpp"

namespace ddl {
namespace fused_attention {
namespace {

// This form predicts attention with scores that stay on the chip [Dao et al., "FlashAttention",
// NeurIPS 2022]. Blocks of 128 queries iterate over their keys, with an exponential for each score.
enum Constant : std::size_t { start, peak, bandwidth, sharpness, exponential, block, wave };
constexpr std::array<KernelConstant, 7> constants{{
    {"start", 6, 0.3, 300},
    {"peak", 0.65, 0.05, 1.2},
    {"bandwidth", 0.6, 0.05, 2},
    {"sharpness", 1.5, 1.02, 8},
    {"exponential", 1, 0.01, 200},  // femtoseconds per score on the whole device
    {"block", 0.3, 0.005, 20},      // microseconds per block
    {"wave", 0.9, 0.01, 0.99},
}};
constexpr double query_block = 128;
constexpr double least_rows = 16;  // a matrix unit has this many rows; shorter sequences are padded
constexpr double femtosecond = 1e-15;

/// Returns the length padded to whole blocks or, if the length is less than a block, to whole rows of matrix units.
double filled(double length) {
  const double whole = length < query_block ? least_rows : query_block;
  return std::ceil(length / whole - 1e-9) * whole;
}

/// Returns the padded size of a head. Heads are padded to the sizes that kernels exist for. On H100, H200 and B200, heads of
/// 72 elements take as long as heads of 80 (medians of 1.02 to 1.06 times), and 1.3 times as long as heads of 64 [NVIDIA,
/// aiconfigurator, encoder attention].
double filled_head(double size) {
  constexpr double step = 32;
  return std::ceil(size / step - 1e-9) * step;
}

double time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double blocks_each = std::ceil(shape.m / query_block - 1e-9);
  // Even with a mask, a block processes all keys that its last query attends to.
  const bool masked = shape.n < shape.m;
  const double rows = std::min(filled(shape.m), query_block);
  const double keys = masked && shape.m >= query_block ? std::max(shape.n + query_block / 2, query_block)
                                                       : filled(masked ? shape.m : shape.n);
  // With a causal mask, the last block has twice as many keys as the mean, and the kernel cannot end before this block.
  const double most_keys = masked ? filled(std::min(shape.m, 2 * shape.n)) : keys;
  const double blocks = shape.count * blocks_each;
  const double units = std::max(1.0, peaks.multiprocessors);
  const double filling = shape.k > 0 ? filled_head(shape.k) / shape.k : 1;
  const double flops_of_pair = shape.flops * filling / (shape.count * shape.m * shape.n);
  const double of_pair = flops_of_pair / (peaks.flop_rate * c[peak] / units) + c[exponential] * femtosecond * units;
  // If the number of multiprocessors is unknown, it is unknown how many blocks start at once. Their start is then left out.
  const double start_of_block = peaks.multiprocessors > 0 ? c[block] * microsecond : 0;
  const double of_block = rows * keys * of_pair + start_of_block;
  const double longest = peaks.multiprocessors > 0 ? rows * most_keys * of_pair + start_of_block : 0;
  const double waves = blocks / units;
  const double idle = peaks.multiprocessors > 0 ? std::pow(std::ceil(waves - 1e-9) / waves, c[wave]) : 1;
  const double traffic = shape.bytes / (peaks.bandwidth * c[bandwidth]);
  return c[start] * microsecond + soft_max(std::max(of_block * waves * idle, longest), traffic, c[sharpness]);
}

double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return soft_max(shape.flops / (peaks.flop_rate * c[peak]), shape.bytes / (peaks.bandwidth * c[bandwidth]), c[sharpness]);
}

constexpr KernelForm form{"attention", constants, time, least};

}  // namespace
}  // namespace fused_attention

const KernelForm& fused_attention_form() { return fused_attention::form; }

}  // namespace ddl
