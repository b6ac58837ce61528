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
    {"--tensor-model-parallel-size", Said::tensor},
    {"--pipeline-model-parallel-size", Said::pipeline},
    {"--context-parallel-size", Said::context},
    {"--expert-model-parallel-size", Said::expert},
    {"--moe-expert-parallel-size", Said::expert},
    {"--micro-batch-size", Said::micro_batch},
    {"--global-batch-size", Said::global_batch},
    {"--sequence-parallel", Said::sequence_parallel, "yes"},
    {"--num-layers-per-virtual-pipeline-stage", Said::layers_per_virtual_stage},
    {"--num-virtual-stages-per-pipeline-rank", Said::virtual_stages},
    {"--use-distributed-optimizer", Said::zero, "1"},
    {"--data-parallel-sharding-strategy", Said::sharding, "", shardings},
    {"--use-torch-fsdp2", Said::fsdp, "yes"},
    {"--use-megatron-fsdp", Said::fsdp, "yes"},
    {"--use-custom-fsdp", Said::fsdp, "yes"},
    {"--zero-stage", Said::zero},
    {"--recompute-granularity", Said::recompute, "", granularities},
    {"--recompute-method", Said::recompute_method, "", recompute_methods},
    {"--recompute-num-layers", Said::recompute_blocks},
    {"--recompute-modules", Said::recompute_modules},
    {"--recompute-activations", Said::recompute, "selective"},
    {"--checkpoint-activations", Said::recompute, "full"},
    {"--cp-comm-type", Said::context_exchange, "", exchanges},
    {"--overlap-grad-reduce", Said::overlap, "yes"},
    {"--bf16", Said::precision, "bf16"},
    {"--fp16", Said::precision, "fp16"},
    {"--fp8-format", Said::fp8, "", fp8_formats},
    {"--fp8-hybrid", Said::fp8, "yes"},
    {"--fp8-e4m3", Said::fp8, "yes"},
    {"--fp4-format", Said::fp4, "", fp4_formats},
    {"--optimizer-cpu-offload", Said::offload, "optimizer"},
    {"--cpu-offloading", Said::offload_activations, "yes"},
    {"--fine-grained-activation-offloading", Said::offload_activations, "yes"},
    {"--expert-tensor-parallel-size", Said::expert_tensor},
    {"--optimizer", Said::optimizer, "", optimizers},
    {"--num-layers", Said::layers},
    {"--hidden-size", Said::hidden},
    {"--num-attention-heads", Said::heads},
    {"--group-query-attention", Said::grouped_queries, "yes"},
    {"--num-query-groups", Said::kv_heads},
    {"--num-key-value-heads", Said::kv_heads},
    {"--kv-channels", Said::head_size},
    {"--ffn-hidden-size", Said::feed_forward},
    {"--vocab-size", Said::vocabulary},
    {"--padded-vocab-size", Said::vocabulary},
    {"--make-vocab-size-divisible-by", Said::vocabulary_multiple},
    {"--max-position-embeddings", Said::positions},
    {"--seq-length", Said::sequence},
    {"--encoder-seq-length", Said::sequence},
    {"--num-experts", Said::experts},
    {"--moe-router-topk", Said::active_experts},
    {"--topk", Said::active_experts},
    {"--moe-ffn-hidden-size", Said::expert_feed_forward},
    {"--swiglu", Said::gated, "yes"},
    {"--squared-relu", Said::activation, "relu2"},
    {"--normalization", Said::norm, "", norms},
    {"--position-embedding-type", Said::position, "", positions},
    {"--use-rotary-position-embeddings", Said::position, "rope"},
    {"--no-position-embedding", Said::position, "none"},
    {"--rotary-percent", Said::rotary_percent},
    {"--disable-bias-linear", Said::bias, "no"},
    {"--add-qkv-bias", Said::qkv_bias, "yes"},
    {"--qk-layernorm", Said::query_key_norm, "yes"},
    {"--untie-embeddings-and-output-weights", Said::tied, "no"},
    {"--hidden-dropout", Said::hidden_dropout},
    {"--attention-dropout", Said::attention_dropout},
    {"--attention-backend", Said::attention, "", attentions},
    {"--transformer-impl", Said::implementation, "", implementations},
    {"--multi-latent-attention", Said::latent, "yes"},
    {"--use-flash-attn", Said::attention, "fused"},
    {"--use-flash-attn-v2", Said::attention, "fused"},
    {"--tokenizer-type", Said::tokenizer},
    {"--tokenizer-model", Said::tokenizer},
});

constexpr auto usual = std::to_array<UsualValue>({{Said::precision, "fp32"},
                                                  {Said::norm, "layer"},
                                                  {Said::position, "learned"},
                                                  {Said::bias, "yes"},
                                                  {Said::tied, "yes"},
                                                  {Said::hidden_dropout, "0.1"},
                                                  {Said::attention_dropout, "0.1"},
                                                  {Said::vocabulary_multiple, "128"}});

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
