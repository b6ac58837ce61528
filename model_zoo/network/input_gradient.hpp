#pragma once

#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// For each layer, whether training computes the gradient of its input. This gradient is needed if any earlier layer is
/// trained, also if it is trained through weights that another layer shares (`tied`). The gradients of the sample, and of
/// tensors computed from the sample alone, are not needed.
[[nodiscard]] std::vector<bool> needs_input_gradient(const Model& model);

/// For each layer, the number of additions that combine the gradients of its output: the number of gradients that the
/// readers of the output send, minus one. A reader that reads the output twice counts twice.
[[nodiscard]] std::vector<int> gradient_additions(const Model& model);

}  // namespace ddl
