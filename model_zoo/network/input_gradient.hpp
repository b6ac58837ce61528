#pragma once

#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Returns, for each layer, whether training computes the gradient of the layer's input. The gradient is needed if any
/// earlier layer is trained, directly or through weights that another layer shares (`tied`). The gradients of the sample,
/// and of tensors that depend only on the sample, are not needed.
[[nodiscard]] std::vector<bool> needs_input_gradient(const Model& model);

/// Returns, for each layer, the number of additions that combine the gradients of the layer's output: the number of
/// gradients that the readers of the output send, minus one. A reader that reads the output twice sends two gradients.
[[nodiscard]] std::vector<int> gradient_additions(const Model& model);

}  // namespace ddl
