#pragma once

#include <vector>

#include "model_zoo/model.hpp"

namespace ddl {

/// By layer, whether training computes the gradient of what it reads: where something before it is trained, be it with
/// weights of another layer (`tied`). Nobody asks for the gradient of the sample, nor of what is made of it alone.
[[nodiscard]] std::vector<bool> needs_input_gradient(const Model& model);

}  // namespace ddl
