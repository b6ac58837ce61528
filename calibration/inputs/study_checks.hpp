#pragma once

#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/machine.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/network/optimizer.hpp"

namespace ddl {

/// Throws an error if the device cannot have this power limit.
void require_power_limit(const Assumptions& assumptions, const Machine& machine);

/// Throws an error if a setting requires another setting that is missing, or if the optimizer cannot update the model.
void require_matching(const Assumptions& assumptions, const Model& model, Optimizer optimizer);

}  // namespace ddl
