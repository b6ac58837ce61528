#include <array>

#include "cli/options/configurations/formats.hpp"

namespace ddl {
namespace megatron_tables {

// Names and defaults: NVIDIA/Megatron-LM, megatron/training/arguments.py, megatron/core/transformer/transformer_config.py
// and megatron/core/model_parallel_config.py.
constexpr auto norms = std::to_array<ArgumentWord>({{"LayerNorm", "layer"}, {"RMSNorm", "rms"}});
constexpr auto positions =
    std::to_array<ArgumentWord>({{"learned_absolute", "learned"}, {"rope", "rope"}, {"none", "none"}, {"yarn", "rope"}});
constexpr auto granularities = std::to_array<ArgumentWord>({{"full", "full"}, {"selective", "selective"}});
constexpr auto exchanges = std::to_array<ArgumentWord>({{"p2p", "ring"}, {"a2a", "ulysses"}, {"allgather", "ring"}});
constexpr auto shardings =
    std::to_array<ArgumentWord>({{"no_shard", "0"}, {"optim", "1"}, {"optim_grads", "2"}, {"optim_grads_params", "3"}});
constexpr auto optimizers = std::to_array<ArgumentWord>({{"adam", "adam"}, {"sgd", "momentum"}});
constexpr auto attentions = std::to_array<ArgumentWord>(
    {{"auto", "fused"}, {"flash", "fused"}, {"fused", "fused"}, {"unfused", "unfused"}, {"local", "unfused"}});
constexpr auto implementations =
    std::to_array<ArgumentWord>({{"transformer_engine", "fused"}, {"local", "unfused"}, {"inference_optimized", "fused"}});
constexpr auto fp8_formats = std::to_array<ArgumentWord>({{"hybrid", "yes"}, {"e4m3", "yes"}});

constexpr auto fp4_formats = std::to_array<ArgumentWord>({{"e2m1", "yes"}});

constexpr auto recompute_methods = std::to_array<ArgumentWord>({{"block", "block"}, {"uniform", "uniform"}, {"", ""}});

constexpr auto rows = std::to_array<ArgumentRow>({
    {"--tensor-model-parallel-size", ConfigField::tensor},
    {"--pipeline-model-parallel-size", ConfigField::pipeline},
    {"--context-parallel-size", ConfigField::context},
    {"--expert-model-parallel-size", ConfigField::expert},
    {"--moe-expert-parallel-size", ConfigField::expert},
    {"--micro-batch-size", ConfigField::micro_batch},
    {"--global-batch-size", ConfigField::global_batch},
    {"--sequence-parallel", ConfigField::sequence_parallel, "yes"},
    {"--num-layers-per-virtual-pipeline-stage", ConfigField::layers_per_virtual_stage},
    {"--num-virtual-stages-per-pipeline-rank", ConfigField::virtual_stages},
    {"--use-distributed-optimizer", ConfigField::zero, "1"},
    {"--data-parallel-sharding-strategy", ConfigField::sharding, "", shardings},
    {"--use-torch-fsdp2", ConfigField::fsdp, "yes"},
    {"--use-megatron-fsdp", ConfigField::fsdp, "yes"},
    {"--use-custom-fsdp", ConfigField::fsdp, "yes"},
    {"--zero-stage", ConfigField::zero},
    {"--recompute-granularity", ConfigField::recompute, "", granularities},
    {"--recompute-method", ConfigField::recompute_method, "", recompute_methods},
    {"--recompute-num-layers", ConfigField::recompute_blocks},
    {"--recompute-modules", ConfigField::recompute_modules},
    {"--recompute-activations", ConfigField::recompute, "selective"},
    {"--checkpoint-activations", ConfigField::recompute, "full"},
    {"--cp-comm-type", ConfigField::context_exchange, "", exchanges},
    {"--overlap-grad-reduce", ConfigField::overlap, "yes"},
    {"--bf16", ConfigField::precision, "bf16"},
    {"--fp16", ConfigField::precision, "fp16"},
    {"--fp8-format", ConfigField::fp8, "", fp8_formats},
    {"--fp8-hybrid", ConfigField::fp8, "yes"},
    {"--fp8-e4m3", ConfigField::fp8, "yes"},
    {"--fp4-format", ConfigField::fp4, "", fp4_formats},
    {"--optimizer-cpu-offload", ConfigField::offload, "optimizer"},
    {"--cpu-offloading", ConfigField::offload_activations, "yes"},
    {"--fine-grained-activation-offloading", ConfigField::offload_activations, "yes"},
    {"--expert-tensor-parallel-size", ConfigField::expert_tensor},
    {"--optimizer", ConfigField::optimizer, "", optimizers},
    {"--num-layers", ConfigField::layers},
    {"--hidden-size", ConfigField::hidden},
    {"--num-attention-heads", ConfigField::heads},
    {"--group-query-attention", ConfigField::grouped_queries, "yes"},
    {"--num-query-groups", ConfigField::kv_heads},
    {"--num-key-value-heads", ConfigField::kv_heads},
    {"--kv-channels", ConfigField::head_size},
    {"--ffn-hidden-size", ConfigField::feed_forward},
    {"--vocab-size", ConfigField::vocabulary},
    {"--padded-vocab-size", ConfigField::vocabulary},
    {"--make-vocab-size-divisible-by", ConfigField::vocabulary_multiple},
    {"--max-position-embeddings", ConfigField::positions},
    {"--seq-length", ConfigField::sequence},
    {"--encoder-seq-length", ConfigField::sequence},
    {"--num-experts", ConfigField::experts},
    {"--moe-router-topk", ConfigField::active_experts},
    {"--topk", ConfigField::active_experts},
    {"--moe-ffn-hidden-size", ConfigField::expert_feed_forward},
    {"--swiglu", ConfigField::gated, "yes"},
    {"--squared-relu", ConfigField::activation, "relu2"},
    {"--normalization", ConfigField::norm, "", norms},
    {"--position-embedding-type", ConfigField::position, "", positions},
    {"--use-rotary-position-embeddings", ConfigField::position, "rope"},
    {"--no-position-embedding", ConfigField::position, "none"},
    {"--rotary-percent", ConfigField::rotary_percent},
    {"--disable-bias-linear", ConfigField::bias, "no"},
    {"--add-qkv-bias", ConfigField::qkv_bias, "yes"},
    {"--qk-layernorm", ConfigField::query_key_norm, "yes"},
    {"--untie-embeddings-and-output-weights", ConfigField::tied, "no"},
    {"--hidden-dropout", ConfigField::hidden_dropout},
    {"--attention-dropout", ConfigField::attention_dropout},
    {"--attention-backend", ConfigField::attention, "", attentions},
    {"--transformer-impl", ConfigField::implementation, "", implementations},
    {"--multi-latent-attention", ConfigField::latent, "yes"},
    {"--use-flash-attn", ConfigField::attention, "fused"},
    {"--use-flash-attn-v2", ConfigField::attention, "fused"},
    {"--tokenizer-type", ConfigField::tokenizer},
    {"--tokenizer-model", ConfigField::tokenizer},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "fp32"},
                                                  {ConfigField::norm, "layer"},
                                                  {ConfigField::position, "learned"},
                                                  {ConfigField::bias, "yes"},
                                                  {ConfigField::tied, "yes"},
                                                  {ConfigField::hidden_dropout, "0.1"},
                                                  {ConfigField::attention_dropout, "0.1"},
                                                  {ConfigField::vocabulary_multiple, "128"}});

constexpr auto not_modelled = std::to_array<std::string_view>({"--distribute-saved-activations",
                                                               "--cpu-offloading-num-layers",
                                                               "--optimizer-offload-fraction",
                                                               "--use-precision-aware-optimizer",
                                                               "--main-grads-dtype",
                                                               "--main-params-dtype",
                                                               "--exp-avg-dtype",
                                                               "--exp-avg-sq-dtype",
                                                               "--grad-reduce-in-bf16",
                                                               "--fp8-param-gather",
                                                               "--num-distributed-optimizer-instances",
                                                               "--decoder-first-pipeline-num-layers",
                                                               "--decoder-last-pipeline-num-layers",
                                                               "--pipeline-model-parallel-layout",
                                                               "--account-for-embedding-in-pipeline-split",
                                                               "--account-for-loss-in-pipeline-split",
                                                               "--moe-layer-freq",
                                                               "--moe-shared-expert-intermediate-size",
                                                               "--moe-expert-capacity-factor",
                                                               "--moe-token-dispatcher-type",
                                                               "--overlap-moe-expert-parallel-comm",
                                                               "--window-size",
                                                               "--mtp-num-layers",
                                                               "--cuda-graph-impl",
                                                               "--enable-cuda-graph",
                                                               "--rampup-batch-size",
                                                               "--no-gradient-accumulation-fusion",
                                                               "--tp-comm-overlap"});

}  // namespace megatron_tables

const ConfigurationFormat megatron_arguments{"Megatron-LM",
                                             "megatron",
                                             ConfigurationLanguage::script,
                                             megatron_tables::rows,
                                             megatron_tables::usual,
                                             megatron_tables::not_modelled};

}  // namespace ddl
