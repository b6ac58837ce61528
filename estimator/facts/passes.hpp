#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/facts/recompute_modules.hpp"
#include "model_zoo/network/model.hpp"

// Parts of facts_of(), each in its own file.
namespace ddl {

/// Finds the tables of a recommendation model (ModelFacts::tables): lookups whose rows are pooled or flattened to one vector
/// for each sample. `consumers`: for each layer, the layers that read its output.
void find_tables(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts);

/// Finds the layers of experts, their numbers and groups, and the outputs that the router's weights multiply. Requires
/// ModelFacts::storage and ModelFacts::readers.
void find_experts(const Model& model, ModelFacts& facts);

/// Finds gated activations, such as SwiGLU: an activation whose output is only multiplied with another tensor. A kernel that
/// computes both keeps its two inputs for backward, and recomputes the activation [NVIDIA, Megatron Core,
/// megatron/core/fusions/fused_bias_swiglu.py]. `consumers`: the layers that read each layer. Sets ModelFacts::is_gated,
/// output_kept_fused, output_kept_stored, and the same of each TensorReader. With fp8 and nvfp4, the kernel is always fused.
void find_gated_activations(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts);

/// Returns, for each layer, the modules of a transformer block that the layer belongs to. A module is determined by the
/// contents of a residual branch, not by the names of layers. `facts` must be complete up to ModelFacts::in_experts.
[[nodiscard]] std::vector<RecomputeModules> module_layers(const Model& model, const ModelFacts& facts);

/// Returns whether an operation is attention. The additive attention of recurrent networks makes no transformer.
[[nodiscard]] bool attends(const Operation& operation);

/// With fp8 and nvfp4, linear layers keep their inputs in that format: the first of the linear layers that read a tensor
/// makes the copy [NVIDIA, Transformer Engine, transformer_engine/pytorch/module/linear.py and layernorm_linear.py: the
/// quantized input is saved for backward].
void find_narrow_copies(const Model& model, ModelFacts& facts);
/// Counts the frozen parameters of matrix products inside blocks, whose weights may have a narrow format of their own
/// (ModelFacts::base_parameters), the trained parameters outside of such products (ModelFacts::muon_share), and the trained
/// matrices (ModelFacts::block_matrices).
void count_base_parameters(const Model& model, ModelFacts& facts);

/// Finds the tensors that compiled code does not keep for backward: the outputs of elementwise operations and norms whose
/// inputs are kept, or are recomputed too. torch.compile recomputes these in the kernels of backward that read them. It
/// keeps what a matrix product, a convolution or attention reads in backward, since their kernels are fused with no other
/// [PyTorch, torch/_functorch/partitioners.py, min_cut_rematerialization_partition, is_materialized_backwards and
/// should_ban_recomputation; Horace He, "Min-cut optimal(*) recomputation with AOTAutograd", PyTorch developer forum, 2022].
/// Sets TensorReader::keeps_compiled and ModelFacts::output_kept_compiled.
void find_recomputed_tensors(const Model& model, ModelFacts& facts);

/// Finds the layers at the end of each block whose results backward does not need, such as the last matrix product and the
/// addition after it. The gradients of a product need its inputs, and the gradient of an addition needs nothing.
/// Recomputation of a block can end before these layers. `consumers`: for each layer, the layers that read its output.
void find_spared_layers(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts);

}  // namespace ddl
