#pragma once

#include "estimator/facts/model_facts.hpp"

namespace ddl {

/// With fp8 and nvfp4, linear layers keep their inputs in that format: the first of the linear layers that read a tensor
/// makes the copy [NVIDIA, Transformer Engine, transformer_engine/pytorch/module/linear.py and layernorm_linear.py: the
/// quantized input is saved for backward].
void find_narrow_copies(const Model& model, ModelFacts& facts);
/// Counts the frozen parameters of matrix products inside blocks, whose weights may have a narrow format of their own
/// (ModelFacts::base_parameters), and the trained parameters that are none of these (ModelFacts::muon_share).
void count_base_parameters(const Model& model, ModelFacts& facts);

}  // namespace ddl
