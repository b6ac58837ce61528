#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "cli/launch/launcher.hpp"
#include "cli/launch/transformer.hpp"

namespace ddl {
namespace {

std::string yes_no(bool value) { return value ? "true" : "false"; }

}  // namespace

LaunchOutcome launch_nemo(const LaunchRequest& request) {
  if (std::optional<CannotLaunch> refused = megatron_refuses(request)) return *refused;
  const Plan& plan = request.plan();
  const std::optional<Transformer> known = transformer_of(request.study.model());
  assert(known);  // all others are refused
  const Transformer& model = *known;
  if (model.experts > 1) return CannotLaunch{"this form of its configuration has no experts: use Megatron-LM's arguments"};
  if (std::optional<CannotLaunch> lacks = lacks_offload(plan, {})) return *lacks;
  if (plan.precision == Precision::nvfp4)
    return CannotLaunch{"this form of its configuration has no nvfp4: use Megatron-LM's"};
  if (model.window > 0) return CannotLaunch{"this form of its configuration has no attention window"};
  if (plan.optimizer == Optimizer::sgd || plan.optimizer == Optimizer::momentum)
    return CannotLaunch{"its distributed optimizer is Adam"};
  const auto [nodes, on_node] = launch_nodes(request);
  std::string text =
      "# The values of the plan, which override the defaults of megatron_gpt_config of NeMo 24.x "
      "(examples/nlp/language_modeling/conf).\n"
      "defaults:\n  - megatron_gpt_config\n  - _self_\n"
      "hydra:\n  searchpath:\n    - file://${oc.env:NEMO}/examples/nlp/language_modeling/conf\n"
      "trainer:\n";
  text += fmt::format("  num_nodes: {}\n  devices: {}\n  accelerator: gpu\n  precision: {}\n  max_steps: 100\n", nodes,
                      on_node, plan.precision == Precision::fp16 ? "16" : "bf16");
  text += "  log_every_n_steps: 10\n  limit_val_batches: 0\n  accumulate_grad_batches: 1\n";
  text += "model:\n  mcore_gpt: true\n";
  text += fmt::format("  micro_batch_size: {}\n  global_batch_size: {}\n", micro_batch_size(plan), plan.global_batch);
  text += fmt::format("  tensor_model_parallel_size: {}\n  pipeline_model_parallel_size: {}\n", plan.mesh[Axis::tensor],
                      plan.mesh[Axis::pipeline]);
  text += fmt::format("  virtual_pipeline_model_parallel_size: {}\n",
                      plan.virtual_stages > 1 ? fmt::to_string(plan.virtual_stages) : "null");
  text += fmt::format("  context_parallel_size: {}\n  sequence_parallel: {}\n", plan.mesh[Axis::context],
                      yes_no(plan.sequence_parallel));
  text += fmt::format("  encoder_seq_length: {}\n  max_position_embeddings: {}\n", model.tokens, model.positions);
  text += fmt::format("  num_layers: {}\n  hidden_size: {}\n  ffn_hidden_size: {}\n  num_attention_heads: {}\n",
                      model.layers, model.hidden, model.feed_forward, model.heads);
  text += fmt::format("  num_query_groups: {}\n  kv_channels: {}\n", model.kv_heads, model.head_size);
  text += fmt::format("  hidden_dropout: {}\n  attention_dropout: {}\n", model.dropout, model.attention_dropout);
  text += fmt::format("  normalization: {}\n  activation: {}\n  position_embedding_type: {}\n",
                      model.is_llama ? "rmsnorm" : "layernorm", model.is_llama ? "fast-swiglu" : "gelu",
                      model.is_llama ? "rope" : "learned_absolute");
  text +=
      fmt::format("  bias: {}\n  share_embeddings_and_output_weights: {}\n", yes_no(!model.is_llama), yes_no(model.is_tied));
  text += fmt::format("  activations_checkpoint_granularity: {}\n",
                      plan.recompute == Recompute::none ? "null" : to_string(plan.recompute));
  if (plan.recompute == Recompute::full)
    text += fmt::format("  activations_checkpoint_method: {}\n  activations_checkpoint_num_layers: {}\n",
                        plan.recompute_blocks > 0 ? "block" : "uniform", std::max(plan.recompute_blocks, 1));
  // Options with the name of a field of Megatron Core's TransformerConfig are passed on [NVIDIA/NeMo,
  // megatron_base_model.py, build_transformer_config].
  if (plan.recompute == Recompute::selective && plan.recompute_modules != Plan().recompute_modules)
    text += fmt::format("  recompute_modules: [{}]\n", to_string(plan.recompute_modules, ", "));
  text += "  megatron_amp_O2: true\n  transformer_engine: true\n";
  text += fmt::format("  fp8: {}\n  fp8_hybrid: {}\n", yes_no(plan.precision == Precision::fp8),
                      yes_no(plan.precision == Precision::fp8));
  text += fmt::format("  optim:\n    name: {}\n    lr: 1.0e-4\n    weight_decay: 0.1\n",
                      plan.zero_stage == 1 ? "distributed_fused_adam" : "fused_adam");
  text += "  data:\n    # REAL DATA: data_impl mmap, with data_prefix and the tokenizer of the data.\n    data_impl: mock\n";
  text += "    data_prefix: []\n    splits_string: 90,8,2\n";
  Launch launch;
  launch.files = {{"launch/nemo.yaml", text}};
  launch.start =
      "export NEMO=/path/to/NeMo; srun python $NEMO/examples/nlp/language_modeling/megatron_gpt_pretraining.py "
      "--config-path=$PWD/launch --config-name=nemo";
  return launch;
}

}  // namespace ddl
