#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"

namespace ddl {

/// Finds gated activations, such as SwiGLU: an activation whose output is only multiplied with another tensor. A kernel that
/// computes both keeps its two inputs for backward, and recomputes the activation [NVIDIA, Megatron Core,
/// megatron/core/fusions/fused_bias_swiglu.py]. `consumers`: the layers that read each layer. Sets ModelFacts::is_gated,
/// output_kept_fused, output_kept_stored, and the same of each TensorReader. With fp8 and nvfp4, the kernel is always fused.
void find_gated_activations(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts);

}  // namespace ddl
