#pragma once

#include <cstdint>

#include "model_zoo/network/model.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// Returns the number of parameter tensors of a layer, such as a matrix and its bias, or the scale and shift of a norm.
[[nodiscard]] std::int64_t parameter_tensors(const Layer& layer);

/// Returns the optimizer's step on all parameters of a model as one problem. Must not be called for
/// UpdateImplementation::layer, or for a model without parameters.
[[nodiscard]] UpdateProblem update_of_all(const Model& model, Optimizer optimizer, Precision precision,
                                          UpdateImplementation implementation);

}  // namespace ddl
