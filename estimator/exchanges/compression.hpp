#pragma once

#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// How ranks exchange a compressed gradient.
enum class GradientWay {
  allreduce,   ///< compressed gradients can be added up
  two_phases,  ///< an All-to-all of parts, which each rank decodes, adds up and encodes, and an Allgather of the sums
  allgather,   ///< every rank gets the compressed gradients of all ranks
};

/// The cost of a compressed gradient, in bytes for each parameter.
struct CompressedGradient {
  GradientWay way = GradientWay::allreduce;
  double sent = 4;      ///< bytes in the vector of a rank
  double coded = 0;     ///< bytes that kernels read and write to encode, decode and add up gradients
  double flops = 0;     ///< FLOPs of these kernels
  double residual = 0;  ///< memory of the error that is added to the gradient of the next step
};

/// Returns the cost of a gradient that is stored in `stored` bytes and exchanged among `ranks` ranks.
///
/// - fp16, bf16: a copy in half precision [PyTorch docs, "DDP communication hooks", fp16_compress_hook].
/// - int8, int4: blocks with a scale of 4 bytes per 2048 elements, in two phases [Wang23, section 3.3, qgZ].
/// - 1bit: signs and a scale, in two phases, with a residual [Tang et al., "1-bit Adam", arXiv 2102.02888, section 4].
/// - topk: values and numbers of 4 bytes each, with a residual; density counts once for each rank [Lin et al., "Deep
///   gradient compression", arXiv 1712.01887, section 3].
/// - powersgd: two factors of a matrix, which are summed, with a residual [Vogels et al., arXiv 1905.13727, algorithm 1;
///   PyTorch, powerSGD_hook.py].
[[nodiscard]] CompressedGradient compressed_gradient(const Assumptions& assumptions, double factored_share, double stored,
                                                     double ranks);
/// Returns the bytes of memory per parameter of the residual of compression, and of the outer weights and momentum of local
/// steps [Douillard et al., arXiv 2311.08105, algorithm 1], or of workers without a barrier. `stored`: bytes of an exchanged
/// gradient.
[[nodiscard]] double exchange_state_bytes(const Plan& plan, const Assumptions& assumptions, double stored);
/// Returns whether ZeRO can scatter compressed gradients. Compressions with a residual (1bit, topk, powersgd) exclude ZeRO.
[[nodiscard]] bool may_scatter(Compression compression);
/// Returns whether the exchanges of a plan happen after several local steps. This requires replicas of all weights on
/// data-parallel ranks, or shard groups.
[[nodiscard]] bool has_local_steps(const Plan& plan, const Assumptions& assumptions);

}  // namespace ddl
