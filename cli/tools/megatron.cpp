#include "cli/tools/megatron.hpp"

#include <array>

#include <fmt/format.h>

#include "cli/tools/launched_settings.hpp"
#include "estimator/layers/overlaps.hpp"

namespace ddl {
namespace megatron_tables {

// Sources of names and defaults: NVIDIA/Megatron-LM, megatron/training/arguments.py,
// megatron/core/transformer/transformer_config.py and megatron/core/model_parallel_config.py.
constexpr auto norms = argument_words("LayerNorm=layer", "RMSNorm=rms");
constexpr auto positions =
    argument_words("learned_absolute=learned", "rope=rope", "none=none", "yarn=rope", "alibi>alibi", "rotary>rope");
constexpr auto head_types = argument_words("multiquery=yes", "multihead=");
constexpr auto shared_heads = argument_words("multiquery=1", "multihead=");
constexpr auto granularities = argument_words("full=full", "selective=selective");
constexpr auto exchanges = argument_words("p2p=ring", "a2a=ulysses", "allgather=ring");
// MindSpeed's names [Ascend/MindSpeed, docs/features]. The hybrid of both exchanges is not modeled.
constexpr auto algorithms =
    argument_words("megatron_cp_algo=ring", "ulysses_cp_algo=ulysses", "adaptive_cp_algo>ring", "kvallgather_cp_algo>ring",
                   "hybrid_cp_algo=", "hybrid_adaptive_cp_algo=", "mamba_cp_algo=");
constexpr auto shardings = argument_words("no_shard=0", "optim=1", "optim_grads=2", "optim_grads_params=3");
// Megatron-LM's Adam with weight decay is AdamW.
constexpr auto optimizers =
    argument_words("adam=adam", "adam=adamw", "sgd=momentum", "muon=muon", "dist_muon>muon", "adamw>adamw");
constexpr auto gradients = argument_words("fp32=full", "bf16=half", "fp16=half");
constexpr auto fusions = argument_words("native=compiled", "te=fused");
constexpr auto masters = argument_words("fp32=fp32", "fp16=half");
// With `none`, there is no auxiliary loss, so the load is at least as uneven as with a loss.
constexpr auto routings = argument_words("aux_loss=natural", "seq_aux_loss=natural", "global_aux_loss=natural",
                                         "sinkhorn=natural", "none=natural", "*=natural");
constexpr auto scores = argument_words("softmax=softmax", "sigmoid=sigmoid");
constexpr auto moments = argument_words("fp32=fp32", "fp16=half", "bf16=half", "fp8=fp8");
constexpr auto attentions = argument_words("auto=fused", "flash=flash2", "fused=fused", "unfused=unfused", "local=unfused");
constexpr auto implementations = argument_words("transformer_engine=fused", "local=unfused", "inference_optimized=fused");
constexpr auto fp8_formats = argument_words("hybrid=yes", "e4m3=yes");
constexpr auto fp4_formats = argument_words("e2m1=yes");
constexpr auto recompute_methods = argument_words("block=block", "uniform=uniform", "=");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"--num-layers|--encoder-num-layers", ConfigField::layers},
    {"--hidden-size", ConfigField::hidden},
    {"--num-attention-heads", ConfigField::heads},
    {"--group-query-attention", ConfigField::grouped_queries, "yes"},
    {"--num-query-groups|--num-key-value-heads", ConfigField::kv_heads},
    // Multi-query attention [bigcode-project/Megatron-LM, megatron/arguments.py].
    only_read({"--attention-head-type", ConfigField::grouped_queries, "", head_types}),
    only_read({"--attention-head-type", ConfigField::kv_heads, "", shared_heads}),
    {"--kv-channels", ConfigField::head_size},
    {"--ffn-hidden-size", ConfigField::feed_forward},
    {"--vocab-size|--padded-vocab-size", ConfigField::vocabulary},
    {"--make-vocab-size-divisible-by", ConfigField::vocabulary_multiple},
    {"--max-position-embeddings", ConfigField::positions},
    {"--seq-length|--dataloader-seq-length|--encoder-seq-length", ConfigField::sequence},
    {"--num-experts", ConfigField::experts},
    {"--moe-router-topk|--topk", ConfigField::active_experts},
    {"--moe-ffn-hidden-size|--moe-intermediate-size", ConfigField::expert_feed_forward},
    {"--swiglu", ConfigField::gated, "yes"},
    {"--squared-relu", ConfigField::activation, "relu2"},
    {"--normalization", ConfigField::norm, "", norms},
    {"--position-embedding-type", ConfigField::position, "", positions},
    {"--use-rotary-position-embeddings", ConfigField::position, "rope"},
    // Rotary positions take precedence over learned positions [megatron/core/models/gpt/gpt_model.py].
    weak({"--no-position-embedding", ConfigField::position, "none"}),
    {"--rotary-percent", ConfigField::rotary_percent},
    {"--disable-bias-linear", ConfigField::bias, "no"},
    {"--add-qkv-bias", ConfigField::qkv_bias, "yes"},
    {"--qk-layernorm", ConfigField::query_key_norm, "yes"},
    {"--untie-embeddings-and-output-weights|--causal-lm", ConfigField::tied, "no"},
    {"--hidden-dropout", ConfigField::hidden_dropout},
    {"--attention-dropout", ConfigField::attention_dropout},
    {"--attention-backend", ConfigField::attention, "", attentions},
    only_read({"--transformer-impl", ConfigField::implementation, "", implementations}),
    // Only in versions with unfused attention by default: Megatron-LM up to 2021, deepspeedai/Megatron-DeepSpeed.
    weak(only_read({"--deepspeed|--DDP-impl|--checkpoint-activations", ConfigField::implementation, "unfused"})),
    only_read({"--multi-latent-attention", ConfigField::latent, "yes"}),
    only_read({"--q-lora-rank", ConfigField::query_rank}),
    only_read({"--kv-lora-rank", ConfigField::kv_rank}),
    // The second names are those of MindSpeed-LLM and of alibaba/Pai-Megatron-Patch, megatron_patch/arguments.py.
    only_read({"--qk-head-dim|--qk-nope-head-dim", ConfigField::key_size}),
    only_read({"--qk-pos-emb-head-dim|--qk-rope-head-dim", ConfigField::rotary_size}),
    only_read({"--v-head-dim", ConfigField::value_size}),
    only_read({"--mtp-num-layers", ConfigField::predicted}),
    only_read({"--moe-layer-freq", ConfigField::expert_layers}),
    only_read({"--moe-shared-expert-intermediate-size", ConfigField::shared_width}),
    only_read({"--moe-shared-expert-gate", ConfigField::shared_gate, "yes"}),
    only_read({"--moe-router-score-function", ConfigField::scores, "", scores}),
    only_read({"--moe-router-num-groups", ConfigField::expert_groups}),
    only_read({"--moe-router-group-topk", ConfigField::active_groups}),
    // MindSpeed's first blocks without experts, and its shared experts [Ascend/MindSpeed, mindspeed/features_manager].
    only_read({"--first-k-dense-replace", ConfigField::dense_layers}),
    only_read({"--n-shared-experts", ConfigField::shared_experts}),
    {"--use-flash-attn|--use-flash-attn-triton", ConfigField::attention, "fused"},
    only_read({"--use-flash-attn-v2", ConfigField::attention, "flash2"}),
    {"--tokenizer-type", ConfigField::tokenizer_kind},
    {"--tokenizer-model|--tokenizer-name-or-path", ConfigField::tokenizer},
    {"--tensor-model-parallel-size", ConfigField::tensor},
    {"--pipeline-model-parallel-size|--pipe-parallel-size", ConfigField::pipeline},
    {"--context-parallel-size|--ds-sequence-parallel-size", ConfigField::context},
    {"--expert-model-parallel-size|--moe-expert-parallel-size", ConfigField::expert},
    // These arguments exist only in older versions and in deepspeedai/Megatron-DeepSpeed.
    weak(only_read({"--batch-size", ConfigField::micro_batch})),
    only_read({"--model-parallel-size", ConfigField::tensor}),
    {"--micro-batch-size", ConfigField::micro_batch},
    {"--global-batch-size", ConfigField::global_batch},
    {"--sequence-parallel", PlanChoice::sequence_parallel, "yes"},
    {"--num-layers-per-virtual-pipeline-stage", ConfigField::layers_per_virtual_stage},
    {"--num-virtual-stages-per-pipeline-rank", PlanChoice::virtual_stages},
    {"--decoder-first-pipeline-num-layers", PlanChoice::first_stage_blocks},
    {"--decoder-last-pipeline-num-layers", PlanChoice::last_stage_blocks},
    only_read({"--pipeline-model-parallel-layout", ConfigField::stage_layout}),
    {"--account-for-embedding-in-pipeline-split", ConfigField::embedding_slot, "yes"},
    {"--account-for-loss-in-pipeline-split", ConfigField::loss_slot, "yes"},
    only_read({"--moe-router-force-load-balancing", ConfigField::routing_forced, "yes"}),
    only_read({"--moe-router-enable-expert-bias", ConfigField::routing_bias, "yes"}),
    only_read({"--moe-router-load-balancing-type", ConfigField::routing, "", routings}),
    only_read({"--moe-expert-capacity-factor", ConfigField::capacity_factor}),
    only_read({"--moe-pad-expert-input-to-capacity", ConfigField::padded_experts, "yes"}),
    {"--use-distributed-optimizer", PlanChoice::zero, "1"},
    // Arguments of Ascend/MindSpeed-LLM, mindspeed_llm/training/arguments.py.
    only_read({"--lora-r", ConfigField::adapter_rank}),
    only_read({"--lora-dropout", ConfigField::adapter_dropout}),
    only_read({"--lora-target-modules", ConfigField::adapter_layers}),
    only_read({"--moe-tp-extend-ep", ConfigField::expert_tensor, "1"}),
    // Arguments of alibaba/Megatron-LLaMA, megatron/arguments.py and model/llama_model.py.
    only_read({"--overlapped-distributed-optimizer", PlanChoice::zero, "1"}),
    only_read({"--RMSNorm", ConfigField::norm, "rms"}),
    only_read({"--data-parallel-sharding-strategy", ConfigField::sharding, "", shardings}),
    only_read({"--use-torch-fsdp2|--use-megatron-fsdp|--use-custom-fsdp", ConfigField::fsdp, "yes"}),
    only_read({"--zero-stage", PlanChoice::zero}),
    // `--recompute-activations` overrides `--recompute-granularity` [arguments.py, validate_args].
    weak({"--recompute-granularity", PlanChoice::recompute, "", granularities}),
    {"--recompute-method", ConfigField::recompute_method, "", recompute_methods},
    {"--recompute-num-layers", ConfigField::recompute_layers},
    {"--recompute-modules", PlanChoice::recompute_modules},
    {"--recompute-activations", PlanChoice::recompute, "selective"},
    {"--checkpoint-activations", PlanChoice::recompute, "full"},
    {"--cp-comm-type", PlanChoice::context_exchange, "", exchanges},
    only_read({"--context-parallel-algo", PlanChoice::context_exchange, "", algorithms}),
    {"--overlap-grad-reduce", ConfigField::overlap, "yes"},
    {"--bf16", ConfigField::precision, "bf16"},
    {"--fp16", ConfigField::precision, "fp16"},
    {"--fp8-format", ConfigField::fp8, "", fp8_formats},
    {"--fp8-hybrid|--fp8-e4m3", ConfigField::fp8, "yes"},
    {"--fp4-format", ConfigField::fp4, "", fp4_formats},
    {"--optimizer-cpu-offload|--cpu-optimizer", PlanChoice::offload, "optimizer"},
    only_read({"--cpu-offloading|--fine-grained-activation-offloading", PlanChoice::offload_activations, "yes"}),
    {"--expert-tensor-parallel-size", ConfigField::expert_tensor},
    {"--optimizer", ConfigField::optimizer, "", optimizers},
    {"--sgd-momentum", ConfigField::momentum},
    only_read({"--main-grads-dtype", ConfigField::main_gradients, "", gradients}),
    weak(only_read({"--grad-reduce-in-bf16", ConfigField::main_gradients, "half"})),
    only_read({"--main-params-dtype", ConfigField::master_weights, "", masters}),
    // The 16 bits that a bf16 weight shares with its master copy are not stored twice [megatron/core/optimizer/
    // optimizer_config.py, store_param_remainders, which is true by default].
    weak(only_read({"--use-precision-aware-optimizer", ConfigField::master_weights, "half"})),
    only_read({"--exp-avg-dtype", ConfigField::moments, "", moments}),
    weak(only_read({"--cross-entropy-loss-fusion", ConfigField::loss, "compiled"})),
    only_read({"--cross-entropy-fusion-impl", ConfigField::loss, "", fusions}),
    // The arguments below, `--cpu-optimizer` and `--use-flash-attn-triton` are from deepspeedai/Megatron-DeepSpeed,
    // megatron/arguments.py.
    only_read({"--enable-zbh1-pipeline", PlanChoice::schedule, "zb-h1"}),
    only_read({"--ds-sequence-parallel-size", PlanChoice::context_exchange, "ulysses"}),
});
constexpr auto rows = one_name_each<arguments>();

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "fp32"},
                                                  {ConfigField::norm, "layer"},
                                                  {ConfigField::position, "learned"},
                                                  {ConfigField::bias, "yes"},
                                                  {ConfigField::tied, "yes"},
                                                  {ConfigField::hidden_dropout, "0.1"},
                                                  {ConfigField::attention_dropout, "0.1"},
                                                  {ConfigField::vocabulary_multiple, "128"},
                                                  {ConfigField::kv_rank, "32"}});

constexpr auto missing = std::to_array<MissingValue>({
    {PlanChoice::zero, "the distributed optimizer is ZeRO-1: --zero 1"},
    {PlanChoice::shard_group, "the distributed optimizer shards among all data-parallel ranks"},
    {PlanChoice::schedule, "pipelines run 1F1B: --schedule 1f1b"},
});

constexpr auto not_modeled =
    argument_names("--distribute-saved-activations", "--cpu-offloading-num-layers", "--decoder-seq-length",
                   "--optimizer-offload-fraction", "--fp8-param-gather", "--num-distributed-optimizer-instances",
                   "--moe-token-dispatcher-type", "--overlap-moe-expert-parallel-comm", "--window-size", "--cuda-graph-impl",
                   "--enable-cuda-graph", "--rampup-batch-size", "--no-gradient-accumulation-fusion", "--tp-comm-overlap");

constexpr auto marks = argument_names(
    "--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--context-parallel-size",
    "--expert-model-parallel-size", "--model-parallel-size+--num-layers", "--num-attention-heads", "--num-query-groups",
    "--max-position-embeddings+--num-layers", "--ffn-hidden-size", "--use-distributed-optimizer", "--recompute-granularity",
    "--transformer-impl", "--use-mcore-models", "--multi-latent-attention", "--use-megatron-fsdp", "*pretrain_gpt*",
    "*pretrain_llama*", "*pretrain_bert*", "*pretrain_t5*");

// Arguments that change the time and the memory of a step by less than the accuracy of an estimate.
constexpr auto harmless = argument_names(
    "--lr*", "--min-lr*", "--weight-decay*", "--start-weight-decay", "--end-weight-decay", "--adam-*", "--clip-grad",
    "--seed", "--init-*", "ENV_VARS.*", "TEST_TYPE", "BEFORE_SCRIPT", "METRICS*", "--universal-checkpoint",
    "--data-file-list", "--no-data-sharding", "--moe-min-capacity", "--moe-eval-capacity-factor", "--train-*", "--eval-*",
    "--test-data*", "--valid-data*", "--exit-*", "--log-*", "--save*", "--load*", "--no-load-*", "--no-save-*", "--ckpt-*",
    "--use-dist-ckpt", "--use-checkpoint-*", "--dist-ckpt-*", "--async-save", "--auto-detect-ckpt-format", "--override-*",
    "--finetune", "--pretrained-checkpoint", "--data-path", "--data-cache-path", "--data-impl", "--data-args-path",
    "--per-split-data-args-path", "--split", "--mock-data", "--mmap-warmup", "--no-mmap-bin-files", "--num-workers",
    "--dataloader-*", "--num-dataset-builder-threads", "--reset-*", "--eod-mask-loss",
    "--no-create-attention-mask-in-dataloader", "--create-attention-mask-in-dataloader", "--vocab-file", "--merge-file",
    "--tokenizer-*", "--tiktoken-*", "--vocab-extra-ids", "--trust-remote-code", "--tensorboard*", "--wandb*", "--timing-*",
    "--profile*", "--use-pytorch-profiler", "--distributed-*", "--local-rank", "--master-*", "--rdzv*", "--nnodes",
    "--node-rank", "--nproc*", "--use-mcore-models", "--use-legacy-models", "--norm-epsilon", "--layernorm-epsilon",
    "--apply-layernorm-1p", "--rotary-*", "--mscale*", "--use-rope-scaling", "--rope-*", "--yarn-*",
    "--attention-softmax-in-fp32", "--apply-query-key-layer-scaling", "--no-query-key-layer-scaling",
    "--accumulate-allreduce-grads-in-fp32", "--loss-scale*", "--initial-loss-scale", "--min-loss-scale", "--hysteresis",
    "--fp16-lm-cross-entropy", "--check-for-*", "--no-check-for-*", "--rerun-mode", "--manual-gc*",
    "--empty-unused-memory-level", "--overlap-param-gather", "--align-grad-reduce", "--align-param-gather",
    "--overlap-p2p-communication*", "--no-overlap-p2p*", "--ddp-*", "--DDP-impl", "--use-cpu-initialization",
    "--perform-initialization", "--no-initialization", "--no-async-tensor-model-parallel-allreduce", "--no-bias-gelu-fusion",
    "--no-bias-swiglu-fusion", "--no-bias-dropout-fusion", "--bias-*-fusion", "--no-masked-softmax-fusion",
    "--no-rope-fusion", "--exp-avg-sq-dtype", "--cross-entropy-fusion-impl", "--enable-one-logger", "--one-logger-*",
    "--app-tag-*", "--no-one-logger", "--moe-grouped-gemm", "--moe-aux-loss-coeff", "--moe-z-loss-coeff",
    "--moe-router-score-function", "--moe-router-dtype", "--moe-router-bias-update-rate", "--moe-router-topk-scaling-factor",
    "--moe-router-group-topk", "--moe-router-num-groups", "--moe-router-pre-softmax", "--moe-permute-fusion",
    "--moe-router-fusion", "--moe-per-layer-logging", "--moe-input-jitter-eps", "--moe-router-padding-for-fp8",
    "--moe-use-legacy-grouped-gemm", "--moe-loss-coeff", "--fp8-amax-*", "--fp8-margin", "--fp8-interval", "--no-fp8-wgrad",
    "--te-rng-tracker", "--calculate-per-token-loss", "--deepspeed*", "--zero-*-bucket*", "--no-pipeline-parallel",
    "--attention-dropout", "--sft*", "--use-tp-pp-dp-mapping", "--nccl-*", "--high-priority-stream-groups", "*tp-comm-*",
    "*straggler-*", "--inference-*", "--bert-load", "--max-tokens-to-oom", "--no-persist-layer-norm", "--kill-switch-*",
    "--codecarbon-dir", "--checkpoint-num-layers", "--checkpoint-in-cpu", "--synchronize-each-layer",
    "--contiguous-checkpointing", "--partition-activations", "--skip-train", "--embed-layernorm", "--pad-vocab-size-to",
    "--iterations-to-skip", "--legacy-tokenizer", "--log_*", "--job-name", "--moe-token-drop-policy", "--tokens-to-skip",
    "--position-embedding-*", "--transformer-pipeline-*", "--use-fused-*", "--no-shared-storage", "--handler-name",
    "--stage", "--enable-hf2mg-convert", "--model-type-hf", "--is-instruction-dataset", "--prompt-type", "--ai-framework",
    "--norm-topk-prob", "--lora-alpha", "--lora-fusion", "--lora-load");

constexpr auto other_model =
    "name the trained model with --model, which sets all sizes; the other arguments of the file are used";
constexpr auto encoder_model =
    "name the trained model, such as --model bert-large or t5-base: the other arguments of the file are used";
constexpr auto encoders = "bert t5", pairs = "t5";
constexpr auto refused = std::to_array<RefusedArgument>({
    // The family with latent attention predicts further tokens.
    {.key = "--mtp-num-layers",
     .reason = "no supported family of models predicts several tokens ahead",
     .hint = other_model,
     .is_of_model = true,
     .without = "--multi-latent-attention"},
    {"--is-hybrid-model", "not all layers are transformer blocks", other_model, true},
    {"--hybrid-override-pattern", "not all layers are transformer blocks", other_model, true},
    {"--hybrid-layer-pattern", "not all layers are transformer blocks", other_model, true},
    {"--hybrid-attention-ratio", "not all layers are transformer blocks", other_model, true},
    {"--experimental-attention-variant", "no supported family of models has such attention", other_model, true},
    // The gates double the query weights. Models with gates also have blocks of linear attention, which `--spec` builds.
    {"--attention-output-gate", "the blocks have gated or linear attention", other_model, true},
    {"--use-gated-attention", "the blocks have gated or linear attention", other_model, true},
    {"--linear-attention-freq", "no supported family of models has such attention", other_model, true},
    {"--full-attention-interval", "not all layers are transformer blocks", other_model, true},
    {"--linear-num-key-heads", "not all layers are transformer blocks", other_model, true},
    {"--heterogeneous-layers-config-*", "the blocks differ from each other", other_model, true},
    // MindSpeed's blocks without effect [Ascend/MindSpeed, mindspeed/features_manager].
    {"--noop-layers", "some blocks do nothing", other_model, true},
    {"--use-multiparameter-pipeline-model-parallel", "the stages exchange additional tensors", other_model, true},
    {"MODE", "text is generated", "pass the configuration of the training instead", false, "inference rl"},
    {"--num-tokens-to-generate", "text is generated", "pass the configuration of the training instead"},
    {"--expert-interval", "only some blocks have experts", other_model, true},
    {"--mlp-type", "no supported family of models has shared experts", other_model, true, "residual"},
    {"--decoder-num-layers", "an encoder and a decoder are trained", encoder_model, true, "", "", pairs},
    {"--encoder-tensor-model-parallel-size", "the encoder has a separate plan", other_model},
    {"--encoder-pipeline-model-parallel-size", "the encoder has a separate plan", other_model},
    {"--retro-*", "the model retrieves text", other_model, true},
    {"--freeze-LM", "only a part of the model is trained", "pass the script of a training of the whole model"},
    {"--vision-*", "a vision model is trained as well", other_model, true},
    {"--language-model-type", "a vision model is trained as well", other_model, true},
    {"--freeze-ViT", "a vision model is trained as well", other_model, true},
    {"--img-h", "a vision model is trained", other_model, true},
    {.key = "--lora-*",
     .reason = "arguments about adapters are not read",
     .hint = "name the model with its adapters: --model NAME@lora=16",
     .is_of_model = true,
     .without = "--lora-r"},
    {"--peft*", "arguments about adapters are not read", "name the model with its adapters: --model NAME@lora=16", true},
    {"--position-embedding-type", "the positions are those of a vision-language model", other_model, true, "mrope"},
    {"--model-provider", "a vision model is trained as well", other_model, true, "*vlm* *llava* *mimo*"},
    {"--kd", "a second model runs without gradients", other_model, true},
    // Kinds of training in MindSpeed-LLM other than pre-training and supervised fine-tuning.
    {"--stage", "samples are generated, or further models run, in addition to training",
     "use options for the training step alone: --model, --gpus, --global-batch", false, "*dpo* orm prm *ppo* *grpo*"},
    {"--vocab-file", "the vocabulary is that of an encoder such as BERT", encoder_model, true, "*bert*", "", encoders},
    // The tokenizer of GPT-2, which is the default, needs both files, the first in JSON [megatron/training/tokenizer].
    {.key = "--vocab-file",
     .reason = "without a merge file, the vocabulary is that of an encoder such as BERT",
     .hint = encoder_model,
     .is_of_model = true,
     .values = "*.txt",
     .families = encoders,
     .without = "--merge-file --tokenizer-type --tokenizer-model"},
    {"--tokenizer-type", "the tokenizer is for encoders such as BERT", encoder_model, true, "bertwordpiece*", "", encoders},
    {"--teacher-model-config", "a second model runs without gradients", other_model, true},
    {"--export-kd-*", "a second model runs without gradients", other_model, true},
});

}  // namespace megatron_tables

const ConfigurationFormat megatron_arguments{"Megatron-LM",
                                             "megatron",
                                             ConfigurationLanguage::script,
                                             megatron_tables::rows,
                                             megatron_tables::usual,
                                             megatron_tables::not_modeled,
                                             megatron_tables::missing,
                                             megatron_tables::marks,
                                             {},
                                             megatron_tables::harmless,
                                             megatron_tables::refused};

namespace {

/// Returns whether all virtual stages have equal numbers of layers, except those of the first and last stage if the plan
/// assigns layers to these.
bool divides(const Plan& plan, std::int64_t layers) {
  const std::int64_t stages = plan.mesh[Axis::pipeline], chunks = plan.virtual_stages;
  const std::int64_t first = plan.first_stage_blocks, last = plan.last_stage_blocks;
  if (first == 0 && last == 0) return (layers + outer_slots(plan, layers)) % (stages * chunks) == 0;
  const std::int64_t others = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0), rest = layers - first - last;
  return first % chunks == 0 && last % chunks == 0 && (others == 0 ? rest == 0 : rest % (others * chunks) == 0);
}

/// Returns why Megatron Core stops at the start of the plan; empty if it does not.
/// Sources: Megatron-LM, megatron/core/transformer/transformer_config.py, __post_init__ (heads, query groups);
/// megatron/core/tensor_parallel/layers.py (widths); megatron/training/arguments.py, validate_args (sequences, Muon);
/// megatron/core/transformer/moe/moe_layer.py, forward (experts); megatron/core/optimizer/distrib_optimizer.py (Adam).
std::optional<std::string> refused_by_core(const Plan& plan, const Transformer& model) {
  const std::int64_t parts = plan.mesh[Axis::tensor], contexts = plan.mesh[Axis::context];
  if (model.heads % parts != 0) return fmt::format("{} attention heads do not divide into {} parts", model.heads, parts);
  if (model.kv_heads % parts != 0)
    return fmt::format("{} key-value heads do not divide into {} parts", model.kv_heads, parts);
  if (model.feed_forward % parts != 0)
    return fmt::format("the width {} of the MLPs does not divide into {} parts", model.feed_forward, parts);
  if (parts > 1 && plan.sequence_parallel && model.tokens % (parts * contexts) != 0)
    return fmt::format("{} tokens do not divide into {} parts", model.tokens, parts * contexts);
  if (contexts > 1 && model.tokens % (2 * contexts) != 0)
    return fmt::format("{} tokens do not divide into two parts for each of {} context ranks", model.tokens, contexts);
  if (model.experts > 1 && parts > 1 && !plan.sequence_parallel)
    return "with tensor parallelism, experts need sequence parallelism: --sequence-parallel yes";
  const bool is_adam = plan.optimizer == Optimizer::adam || plan.optimizer == Optimizer::adamw;
  if (plan.zero_stage > 0 && !is_adam) return "the distributed optimizer is Adam: --zero 0, or --optimizer adamw";
  return std::nullopt;
}

}  // namespace

MegatronRun megatron_run(const LaunchRequest& request, const ConfigurationFormat& format) {
  const Plan& plan = request.plan();
  if (std::optional<CannotLaunch> lacks = missing_axes(format, plan)) return {.refused = lacks};
  const std::optional<Transformer> model = transformer_of(request.study.model());
  if (!model) {
    return {.refused = CannotLaunch{fmt::format("the launch files support GPT-like and Llama-like decoders, not {}",
                                                request.study.model().name)}};
  }
  MegatronRun run{.model = *model, .values = values_of(plan, format, model->layers)};
  add_model(run.values, *model);
  // Older versions do not know arguments that were added later, so arguments with default values are not written.
  if (plan.recompute_modules == Plan().recompute_modules) run.values.clear(PlanChoice::recompute_modules);
  if (model->experts == 1) run.values.clear(ConfigField::expert);
  if (!plan.whole_experts) run.values.clear(ConfigField::expert_tensor);
  run.values.clear(ConfigField::attention);  // Transformer Engine chooses the attention kernel
  if (!model->is_fused) {
    run.notes.push_back(fmt::format("Transformer Engine fuses attention, the prediction does not: predict {}@fused=yes",
                                    request.study.model().name));
  }
  const std::int64_t parts = plan.mesh[Axis::tensor];
  const std::int64_t padded = (model->vocabulary + parts - 1) / parts * parts;
  run.values.set(ConfigField::vocabulary, padded);
  if (padded != model->vocabulary)
    run.notes.push_back(fmt::format("the tensor split pads the vocabulary to {} tokens", padded));
  const bool cuts_blocks = plan.mesh[Axis::pipeline] > 1 && plan.first_stage_blocks == 0 && plan.last_stage_blocks == 0;
  if (cuts_blocks && !request.study.coefficients().software.equal_stages.value_or(false)) {
    run.notes.emplace_back(
        "the launched stages have equal numbers of blocks, but the predicted stages have equal times: add --software "
        "megatron");
  }
  const std::int64_t stages = std::int64_t{plan.mesh[Axis::pipeline]} * plan.virtual_stages;
  if (model->window > 0) {
    run.refused = CannotLaunch{"the launch files have no attention window"};
  } else if (plan.precision == Precision::tf32 || plan.precision == Precision::fp32) {
    run.refused = CannotLaunch{"the launch files use mixed precision: --precision bf16"};
  }
  if (const std::optional<std::string> reason = refused_by_core(plan, *model); !run.refused && reason)
    run.refused = CannotLaunch{*reason};
  if (!run.refused && !divides(plan, model->layers)) {
    run.refused = CannotLaunch{fmt::format("{} layers do not divide into {} equal stages", model->layers, stages)};
  }
  return run;
}

namespace {
/// The settings of a training that the arguments carry.
const std::vector<std::string_view>& carried_settings() {
  static const std::vector<std::string_view> carried{
      "mixed_precision=full half", "gradient_sums",  "master_weights=fp32 half",     "moments",
      "capacity_factor",           "padded_experts", "cross_entropy=in-place fused", "cross_entropy=compiled"};
  return carried;
}

/// Adds arguments for the user's settings, and for those that follow from the plan. Returns why Megatron-LM has none.
std::optional<CannotLaunch> add_asked_settings(const LaunchRequest& request, const Transformer& model,
                                               ConfigText& arguments) {
  const Plan& plan = request.plan();
  const auto word = [&](std::string_view value) { return value == "half" ? "fp16" : std::string(value); };
  const std::optional<std::string> masters = asked_setting(request, "master_weights"),
                                   moments = asked_setting(request, "moments");
  const auto sums_in = [&](std::string_view value) {
    return asked_setting(request, "mixed_precision") == value || asked_setting(request, "gradient_sums") == value;
  };
  const bool is_asked =
      is_mixed(plan.precision) && (masters.value_or("fp32") != "fp32" || moments.value_or("fp32") != "fp32");
  if (is_asked && plan.zero_stage == 0)
    return CannotLaunch{"only the distributed optimizer has other formats of moments and master weights: --zero 1"};
  if (is_asked || plan.offload == Offload::optimizer) arguments.set("--use-precision-aware-optimizer", nullptr);
  if (is_asked && masters) arguments.set("--main-params-dtype", word(*masters));
  if (is_asked && moments) arguments.set("--exp-avg-dtype", word(*moments));
  if (is_asked && moments) arguments.set("--exp-avg-sq-dtype", word(*moments));
  if (plan.precision == Precision::bf16 && sums_in("half")) arguments.set("--grad-reduce-in-bf16", nullptr);
  if (plan.precision == Precision::fp16 && sums_in("full")) arguments.set("--accumulate-allreduce-grads-in-fp32", nullptr);
  const std::optional<std::string> loss = asked_setting(request, "cross_entropy");
  if (loss == "compiled" || loss == "fused") arguments.set("--cross-entropy-loss-fusion", nullptr);
  if (loss == "fused") arguments.set("--cross-entropy-fusion-impl", "te");
  if (model.experts == 1) return std::nullopt;
  const std::optional<std::string> capacity = asked_setting(request, "capacity_factor");
  const bool is_padded = asked_setting(request, "padded_experts") == "yes";
  if (is_padded && !capacity) return CannotLaunch{"experts can only be padded to a capacity: --capacity-factor"};
  if (capacity) arguments.set("--moe-expert-capacity-factor", *capacity);
  if (is_padded) arguments.set("--moe-pad-expert-input-to-capacity", nullptr);
  return std::nullopt;
}

}  // namespace

LaunchOutcome launch_megatron(const LaunchRequest& request) {
  MegatronRun run = megatron_run(request, megatron_arguments);
  if (run.refused) return *run.refused;
  RunValues& values = run.values;
  // NullTokenizer adds one token to --vocab-size.
  values.set(ConfigField::tokenizer_kind, null_tokenizer);
  values.set(ConfigField::vocabulary, run.model.vocabulary - 1);
  const Software& software = request.study.coefficients().software;
  const bool is_muon = request.plan().optimizer == Optimizer::muon;
  if (software.overlaps_gradients.value_or(false)) {
    // Megatron-LM refuses the overlap with Muon [megatron/training/arguments.py, validate_args].
    if (is_muon) {
      run.notes.emplace_back("with Muon, gradient reduction is not overlapped");
    } else {
      values.set(ConfigField::overlap, "yes");
    }
  }
  if (std::optional<CannotLaunch> lacks = refused(request, megatron_arguments, values)) return *lacks;
  const Plan& plan = request.plan();
  const bool offloads = plan.offload == Offload::optimizer;
  if (offloads && plan.zero_stage == 0) return CannotLaunch{"only the distributed optimizer can be offloaded: --zero 1"};

  ConfigText arguments(megatron_arguments, values);
  if (software.overlaps_weight_gathers.value_or(false) && plan.zero_stage == 1)
    arguments.set("--overlap-param-gather", nullptr);
  if (software.overlaps_tensor_exchanges.value_or(false) && plan.sequence_parallel)
    arguments.set("--tp-comm-overlap", nullptr);
  if (run.model.experts > 1) {
    arguments.set("--moe-token-dispatcher-type", "alltoall");
    arguments.set("--moe-grouped-gemm", nullptr);
    if (plan.mesh[Axis::expert] > 1 && hides_expert_exchanges(software, plan))
      arguments.set("--overlap-moe-expert-parallel-comm", nullptr);
  }
  if (std::optional<CannotLaunch> lacks = add_asked_settings(request, run.model, arguments)) return *lacks;
  for (const auto& [key, value] :
       {std::pair{"--lr", "0.0001"}, {"--train-iters", "100"}, {"--eval-iters", "0"}, {"--log-interval", "10"}}) {
    arguments.set(key, value);
  }
  for (const char* flag : {"--log-throughput", "--mock-data"}) arguments.set(flag, nullptr);
  Launch launch;
  launch.files = {
      {"launch/megatron.sh",
       fmt::format(
           "#!/bin/bash\n"
           "# Launches pretrain_gpt.py of Megatron-LM in its checkout: MEGATRON=/path/to/Megatron-LM launch/megatron.sh\n"
           "# REAL DATA: replace --mock-data, --tokenizer-type and --vocab-size by --data-path and the tokenizer of the "
           "data.\n"
           "set -eu\narguments=(\n{})\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n"
           "exec {} \\\n  \"${{MEGATRON:?name the checkout of Megatron-LM}}/pretrain_gpt.py\" \"${{arguments[@]}}\" "
           "\"$@\"\n",
           arguments.shell(), torchrun_command(launch_nodes(request))),
       true}};
  launch.start = told_first_node(launch_nodes(request), "MEGATRON=/path/to/Megatron-LM launch/megatron.sh");
  launch.job = job_script("launch/megatron.sh", "MEGATRON=/path/to/Megatron-LM");
  launch.carried = carried_settings();
  launch.notes = std::move(run.notes);
  return launch;
}

}  // namespace ddl
