#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "cli/launch/launcher.hpp"
#include "cli/launch/transformer.hpp"
#include "estimator/layers/overlaps.hpp"

namespace ddl {
namespace {

/// Arguments of Megatron-LM, one per line.
class Arguments {
 public:
  void flag(std::string_view name) { text_ += fmt::format("  --{}\n", name); }
  template <class Value>
  void set(std::string_view name, const Value& value) {
    text_ += fmt::format("  --{} {}\n", name, value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_network(Arguments& arguments, const Transformer& model) {
  arguments.set("num-layers", model.layers);
  arguments.set("hidden-size", model.hidden);
  arguments.set("ffn-hidden-size", model.feed_forward);
  arguments.set("num-attention-heads", model.heads);
  if (model.kv_heads != model.heads) {
    arguments.flag("group-query-attention");
    arguments.set("num-query-groups", model.kv_heads);
  }
  if (model.head_size * model.heads != model.hidden) arguments.set("kv-channels", model.head_size);
  arguments.set("seq-length", model.tokens);
  arguments.set("max-position-embeddings", model.positions);
  arguments.set("tokenizer-type", "NullTokenizer");
  // The null tokenizer adds one to its vocabulary.
  arguments.set("vocab-size", model.vocabulary - 1);
  arguments.set("make-vocab-size-divisible-by", 1);
  arguments.set("hidden-dropout", model.dropout);
  arguments.set("attention-dropout", model.attention_dropout);
  if (model.is_llama) {
    arguments.set("position-embedding-type", "rope");
    arguments.set("normalization", "RMSNorm");
    arguments.flag("swiglu");
    arguments.flag("disable-bias-linear");
    if (model.has_qkv_bias) arguments.flag("add-qkv-bias");
    if (model.has_query_key_norm) arguments.flag("qk-layernorm");
  } else {
    arguments.set("position-embedding-type", "learned_absolute");
  }
  if (!model.is_tied) arguments.flag("untie-embeddings-and-output-weights");
  if (model.experts > 1) {
    arguments.set("num-experts", model.experts);
    arguments.set("moe-router-topk", model.active);
    arguments.set("moe-token-dispatcher-type", "alltoall");
    arguments.flag("moe-grouped-gemm");
  }
}

void add_plan(Arguments& arguments, const LaunchRequest& request, const Transformer& model) {
  const Plan& plan = request.plan();
  arguments.set("tensor-model-parallel-size", plan.mesh[Axis::tensor]);
  arguments.set("pipeline-model-parallel-size", plan.mesh[Axis::pipeline]);
  if (plan.virtual_stages > 1) {
    arguments.set("num-layers-per-virtual-pipeline-stage", layers_per_stretch(plan, model));
  }
  if (plan.mesh[Axis::context] > 1) {
    arguments.set("context-parallel-size", plan.mesh[Axis::context]);
    arguments.set("cp-comm-type", plan.context_exchange == ContextExchange::ring ? "p2p" : "a2a");
  }
  const bool deals = plan.whole_experts && plan.mesh[Axis::tensor] > 1;
  const int experts = plan.mesh[Axis::expert] * (deals ? plan.mesh[Axis::tensor] : 1);
  if (experts > 1) arguments.set("expert-model-parallel-size", experts);
  if (deals) arguments.set("expert-tensor-parallel-size", 1);
  if (plan.sequence_parallel) arguments.flag("sequence-parallel");
  arguments.set("micro-batch-size", micro_batch_size(plan));
  arguments.set("global-batch-size", plan.global_batch);
  if (plan.zero_stage == 1) arguments.flag("use-distributed-optimizer");
  const Software& software = request.study.coefficients().software;
  if (software.overlaps_gradients.value_or(false)) arguments.flag("overlap-grad-reduce");
  if (software.overlaps_weight_gathers.value_or(false) && plan.zero_stage == 1) arguments.flag("overlap-param-gather");
  if (software.overlaps_tensor_exchanges.value_or(false) && plan.sequence_parallel) arguments.flag("tp-comm-overlap");
  if (experts > 1 && hides_expert_exchanges(software, plan)) arguments.flag("overlap-moe-expert-parallel-comm");
  if (plan.recompute == Recompute::full) {
    arguments.set("recompute-granularity", "full");
    arguments.set("recompute-method", plan.recompute_blocks > 0 ? "block" : "uniform");
    arguments.set("recompute-num-layers", std::max(plan.recompute_blocks, 1));
  } else if (plan.recompute == Recompute::selective) {
    arguments.set("recompute-granularity", "selective");
    if (plan.recompute_modules != Plan().recompute_modules)
      arguments.set("recompute-modules", to_string(plan.recompute_modules, " "));
  }
  arguments.flag(plan.precision == Precision::fp16 ? "fp16" : "bf16");
  if (plan.precision == Precision::fp8) arguments.set("fp8-format", "hybrid");
  if (plan.precision == Precision::nvfp4) arguments.set("fp4-format", "e2m1");
  const bool is_adam = plan.optimizer == Optimizer::adam || plan.optimizer == Optimizer::adamw;
  arguments.set("optimizer", is_adam ? "adam" : "sgd");
  if (plan.optimizer == Optimizer::momentum) arguments.set("sgd-momentum", 0.9);
  arguments.set("lr", 1e-4);
  arguments.set("train-iters", 100);
  arguments.set("eval-iters", 0);
  arguments.set("log-interval", 10);
  arguments.flag("log-throughput");
  arguments.flag("mock-data");
}

}  // namespace

LaunchOutcome launch_megatron(const LaunchRequest& request) {
  if (std::optional<CannotLaunch> refused = megatron_refuses(request)) return *refused;
  const std::optional<Transformer> known = transformer_of(request.study.model());
  assert(known);  // all others are refused
  const Transformer& model = *known;
  if (model.window > 0) return CannotLaunch{"its arguments have no attention window"};
  const Plan& plan = request.plan();
  const bool offloads = plan.offload == Offload::optimizer;
  if (offloads && plan.zero_stage == 0) return CannotLaunch{"it only offloads the distributed optimizer: --zero 1"};
  Arguments arguments;
  add_network(arguments, model);
  add_plan(arguments, request, model);
  if (offloads) {
    arguments.flag("optimizer-cpu-offload");
    arguments.flag("use-precision-aware-optimizer");
  }
  std::string text =
      "#!/bin/bash\n"
      "# Launches pretrain_gpt.py of Megatron-LM in its checkout: MEGATRON=/path/to/Megatron-LM launch/megatron.sh\n"
      "# REAL DATA: replace --mock-data, --tokenizer-type and --vocab-size by --data-path and the tokenizer of the data.\n"
      "set -eu\n"
      "arguments=(\n";
  text += arguments.text() + ")\n";
  text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  text += fmt::format(
      "exec {} \\\n  \"${{MEGATRON:?name the checkout of Megatron-LM}}/pretrain_gpt.py\" \"${{arguments[@]}}\" \"$@\"\n",
      torchrun_command(launch_nodes(request)));
  Launch launch;
  launch.files = {{"launch/megatron.sh", text, true}};
  launch.start = told_first_node(launch_nodes(request), "MEGATRON=/path/to/Megatron-LM launch/megatron.sh");
  return launch;
}

}  // namespace ddl
