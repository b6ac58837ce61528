#include "estimator/exchanges/compression.hpp"

#include <algorithm>

#include "estimator/exchanges/synchronization.hpp"

namespace ddl {
namespace {

constexpr double word_bytes = 4, half_bytes = 2, scale_bytes = 4.0 / 2048;

/// Both phases: kernels encode a gradient, decode and encode the parts of all ranks, and decode the sums.
CompressedGradient quantized_gradient(double bits, double stored) {
  const double code = bits / 8 + scale_bytes;
  return {.way = GradientWay::two_phases, .sent = code, .coded = 2 * stored + 3 * code};
}

}  // namespace

CompressedGradient compressed_gradient(const Assumptions& assumptions, double factored_share, double stored, double ranks) {
  switch (assumptions.compression) {
    case Compression::none:
      break;
    case Compression::fp16:
    case Compression::bf16:
      if (stored > half_bytes) return {.sent = half_bytes, .coded = 2 * (stored + half_bytes)};
      break;
    case Compression::int8:
      return quantized_gradient(8, stored);
    case Compression::int4:
      return quantized_gradient(4, stored);
    case Compression::one_bit: {
      CompressedGradient bits = quantized_gradient(1, stored);
      // A rank has the error of its gradient, and the error of the sum that it encodes. Both are read and written.
      bits.residual = word_bytes * (1 + 1 / ranks);
      bits.coded += 2 * bits.residual;
      return bits;
    }
    case Compression::top_k: {
      // Kernels add the residual, read the sum to find the threshold, read it to select, and write the rest. The sums of the
      // ranks are added into a gradient of zeros.
      const double selected = assumptions.compression_density * 2 * word_bytes;
      return {.way = GradientWay::allgather,
              .sent = selected,
              .coded = 2 * stored + 4 * word_bytes + 2 * ranks * selected,
              .residual = word_bytes};
    }
    case Compression::power_sgd: {
      // Kernels add the residual, read the sum for each of two products and for the new residual, and write the product of
      // the factors and the residual.
      const double rank = assumptions.compression_rank;
      // Factors and residual have the precision of the gradient [PyTorch, powerSGD_hook.py, powerSGD_hook].
      const double factors = stored * rank * factored_share;
      // Gradients that would not shrink to half are not compressed [PyTorch, powerSGD_hook.py, _should_compress, with the
      // default of min_compression_rate]. They also have a residual, because a bucket has one residual for all its
      // gradients.
      constexpr double least_rate = 2;
      if (factors * least_rate >= stored) return {.sent = stored, .residual = stored};
      return {.sent = factors, .coded = 8 * stored, .flops = 6 * rank, .residual = stored};
    }
  }
  return {.sent = stored};
}

double exchange_state_bytes(const Plan& plan, const Assumptions& assumptions, double stored) {
  double bytes = 0;
  // The residual does not depend on the size of the factors.
  if (const double ranks = plan.mesh.replicas(); ranks > 1 && plan.zero_stage == 0)
    bytes += compressed_gradient(assumptions, 0, stored, ranks).residual;
  const Synchronization way = synchronization_of(plan, assumptions);
  // The sum of gradients that is pushed to parameter servers, or the weights of a neighbor.
  const double without_barrier = has_servers(way) && !has_local_steps(plan, assumptions) ? 0 : word_bytes;
  if (way != Synchronization::sync && plan.zero_stage == 0) return bytes + without_barrier;
  if (has_local_steps(plan, assumptions)) bytes += 2 * word_bytes;
  return bytes;
}

bool may_scatter(Compression compression) {
  return compression != Compression::one_bit && compression != Compression::top_k && compression != Compression::power_sgd;
}

bool has_local_steps(const Plan& plan, const Assumptions& assumptions) {
  if (assumptions.local_steps <= 1 || plan.mesh[Axis::data] == 1) return false;
  return plan.zero_stage > 0 ? plan.shard_copies() > 1 : plan.mesh.replicas() == plan.mesh[Axis::data];
}

}  // namespace ddl
