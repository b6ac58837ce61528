#pragma once

#include "core/quantity.hpp"
#include "estimator/layer_costs.hpp"
#include "estimator/plan.hpp"

namespace ddl {

/// Bytes of one rank, by what they are for.
struct MemoryBreakdown {
  Bytes weights{}, gradients{}, optimizer{}, activations{};
  [[nodiscard]] Bytes total() const { return weights + gradients + optimizer + activations; }
};

/// Bytes per parameter: fp32 keeps 4 for the weight and 4 for the gradient; mixed precision 2 and 2, and a 4-byte master
/// copy counted with the optimizer's slots (16 in all with Adam, [Kort22]).
struct ParameterBytes {
  double weight = 4, gradient = 4, optimizer = 0;
};
[[nodiscard]] ParameterBytes parameter_bytes(Optimizer optimizer, Precision precision);

/// Memory of the weights, gradients and optimizer state of `parameters` parameters; ZeRO stages 1, 2 and 3 divide the
/// optimizer's, the gradients and the weights among the ranks that hold the same parameters [Rajbhandari et al., SC'20]. Of
/// one layer at a time, of no more than `largest_layer` parameters, the sharded weights and gradients are there whole.
[[nodiscard]] MemoryBreakdown parameter_memory(double parameters, const Plan& plan, double largest_layer = 0);

/// Memory of a rank of stage `stage`, whose layers are [first, last), under the assumptions of the job.
[[nodiscard]] MemoryBreakdown stage_memory(const Job& job, const Plan& plan, const LayerCostTable& table, int stage,
                                           int first, int last);

}  // namespace ddl
