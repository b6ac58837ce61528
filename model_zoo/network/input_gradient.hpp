#pragma once

#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// For each layer, whether training computes the gradient of its input. It does so if an earlier layer is trained, including
/// weights shared with another layer (`tied`). The gradient of the sample, and of tensors computed from it alone, is not
/// needed.
[[nodiscard]] std::vector<bool> needs_input_gradient(const Model& model);

/// For each layer, the number of additions that combine the gradients of its output: one less than the number of gradients
/// that its readers send. An input that is read twice counts twice.
[[nodiscard]] std::vector<int> gradient_additions(const Model& model);

}  // namespace ddl
