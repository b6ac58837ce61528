#pragma once

#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// By layer, whether training computes the gradient of what it reads: where something before it is trained, be it with
/// weights of another layer (`tied`). Nobody asks for the gradient of the sample, nor of what is made of it alone.
[[nodiscard]] std::vector<bool> needs_input_gradient(const Model& model);

/// By layer, how many additions make one gradient of its output: one less than the gradients that its readers send. An input
/// that is read twice counts twice.
[[nodiscard]] std::vector<int> gradient_additions(const Model& model);

}  // namespace ddl
