#pragma once

#include "estimator/facts/model_facts.hpp"

namespace ddl {

/// Finds the tensors that compiled code does not keep for backward: the outputs of elementwise operations and norms whose
/// inputs are kept, or are recomputed too. torch.compile recomputes these in the kernels of backward that read them. It
/// keeps what a matrix product, a convolution or attention reads in backward, since their kernels are fused with no other
/// [PyTorch, torch/_functorch/partitioners.py, min_cut_rematerialization_partition, is_materialized_backwards and
/// should_ban_recomputation; Horace He, "Min-cut optimal(*) recomputation with AOTAutograd", PyTorch developer forum, 2022].
/// Sets TensorReader::keeps_compiled and ModelFacts::output_kept_compiled.
void find_recomputed_tensors(const Model& model, ModelFacts& facts);

}  // namespace ddl
