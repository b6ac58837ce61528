#pragma once

#include <optional>

#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_time.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// Returns whether two models have the same layers: operations, inputs, shapes, weights and work. Names do not matter.
[[nodiscard]] bool is_same_network(const Model& a, const Model& b);

/// Returns the coefficients in which the measured network that equals `model` has the name of `model`. Values of another
/// network with this name are left out.
[[nodiscard]] Coefficients measured_as(Coefficients coefficients, const Model& model);

/// Measured time divided by predicted time, on this device with the measured software. If a variant of the model `like` was
/// measured, this is its ratio. Otherwise it is the geometric mean, with its spread, over the models with the same kind of
/// input as `like` (images, volumes or sequences; all models if `like` is null). Models that were measured in another
/// precision are ignored. Empty if there is no such model.
[[nodiscard]] std::optional<KernelScale> pooled_scale(const Machine& machine, const Coefficients& coefficients,
                                                      Precision precision, const Model* like);

}  // namespace ddl
