#include <array>

#include "cli/options/configurations/formats.hpp"

namespace ddl {
namespace nemo_tables {

// Names and defaults: NVIDIA/NeMo, examples/nlp/language_modeling/conf/megatron_gpt_config.yaml;
// NVIDIA-NeMo/Megatron-Bridge, training/config.py and training/mixed_precision.py; what both hand on is named as in Megatron
// Core.
constexpr auto flags = std::to_array<ArgumentWord>({{"true", "yes"}, {"false", "no"}});
constexpr auto distributed = std::to_array<ArgumentWord>({{"true", "1"}, {"false", "0"}});
constexpr auto offloads = std::to_array<ArgumentWord>({{"true", "optimizer"}, {"false", "none"}});
constexpr auto norms = std::to_array<ArgumentWord>(
    {{"layernorm", "layer"}, {"LayerNorm", "layer"}, {"layernorm1p", "layer"}, {"rmsnorm", "rms"}, {"RMSNorm", "rms"}});
constexpr auto positions =
    std::to_array<ArgumentWord>({{"learned_absolute", "learned"}, {"rope", "rope"}, {"none", "none"}});
constexpr auto granularities = std::to_array<ArgumentWord>({{"full", "full"}, {"selective", "selective"}});
constexpr auto activations = std::to_array<ArgumentWord>({{"gelu", "gelu"},
                                                          {"swiglu", "swiglu"},
                                                          {"fast-swiglu", "swiglu"},
                                                          {"squared-relu", "relu2"},
                                                          {"geglu", "geglu"},
                                                          {"fast-geglu", "geglu"}});
constexpr auto precisions = std::to_array<ArgumentWord>({{"bf16", "bf16"},
                                                         {"bf16-mixed", "bf16"},
                                                         {"16", "fp16"},
                                                         {"16-mixed", "fp16"},
                                                         {"32", "fp32"},
                                                         {"32-true", "fp32"},
                                                         {"bf16_mixed", "bf16"},
                                                         {"fp16_mixed", "fp16"},
                                                         {"fp16-mixed", "fp16"},
                                                         {"bf16_with_fp8_delayed_scaling_mixed", "fp8"},
                                                         {"bf16_with_fp8_current_scaling_mixed", "fp8"},
                                                         {"bf16_with_fp8_subchannel_scaling_mixed", "fp8"},
                                                         {"bf16_with_mxfp8_mixed", "fp8"},
                                                         {"bf16_with_nvfp4_mixed", "nvfp4"},
                                                         {"fp16_with_fp8_delayed_scaling_mixed", "fp8"},
                                                         {"fp16_with_fp8_current_scaling_mixed", "fp8"}});
constexpr auto optimizers = std::to_array<ArgumentWord>({{"adam", "adam"},
                                                         {"adamw", "adamw"},
                                                         {"fused_adam", "adam"},
                                                         {"megatron_fused_adam", "adam"},
                                                         {"mcore_distributed_optim", "adam"},
                                                         {"distributed_fused_adam", "adam"},
                                                         {"sgd", "momentum"}});
// These optimizers shard their state.
constexpr auto sharding_optimizers = std::to_array<ArgumentWord>({{"distributed_fused_adam", "1"},
                                                                  {"mcore_distributed_optim", "1"},
                                                                  {"fused_adam", "0"},
                                                                  {"megatron_fused_adam", "0"},
                                                                  {"adam", "0"},
                                                                  {"adamw", "0"},
                                                                  {"sgd", "0"}});
constexpr auto exchanges = std::to_array<ArgumentWord>({{"p2p", "ring"}, {"a2a", "ulysses"}, {"all_gather", "ring"}});

constexpr auto recompute_methods = std::to_array<ArgumentWord>({{"block", "block"}, {"uniform", "uniform"}, {"", ""}});

constexpr auto rows = std::to_array<ArgumentRow>({
    {"trainer.devices", ConfigField::gpus_per_node},
    {"trainer.num_nodes", ConfigField::nodes},
    {"trainer.precision", ConfigField::precision, "", precisions},
    {"mixed_precision", ConfigField::precision, "", precisions},
    {"model.tensor_model_parallel_size", ConfigField::tensor},
    {"model.pipeline_model_parallel_size", ConfigField::pipeline},
    {"model.context_parallel_size", ConfigField::context},
    {"model.expert_model_parallel_size", ConfigField::expert},
    {"model.virtual_pipeline_model_parallel_size", ConfigField::virtual_stages},
    {"model.sequence_parallel", ConfigField::sequence_parallel, "", flags},
    {"model.micro_batch_size", ConfigField::micro_batch},
    {"model.global_batch_size", ConfigField::global_batch},
    {"train.micro_batch_size", ConfigField::micro_batch},
    {"train.global_batch_size", ConfigField::global_batch},
    {"model.activations_checkpoint_granularity", ConfigField::recompute, "", granularities},
    {"model.recompute_granularity", ConfigField::recompute, "", granularities},
    {"model.activations_checkpoint_method", ConfigField::recompute_method, "", recompute_methods},
    {"model.recompute_method", ConfigField::recompute_method, "", recompute_methods},
    {"model.activations_checkpoint_num_layers", ConfigField::recompute_blocks},
    {"model.recompute_num_layers", ConfigField::recompute_blocks},
    {"model.recompute_modules", ConfigField::recompute_modules},
    {"model.cp_comm_type", ConfigField::context_exchange, "", exchanges},
    {"ddp.use_distributed_optimizer", ConfigField::zero, "", distributed},
    {"optimizer.use_distributed_optimizer", ConfigField::zero, "", distributed},
    {"model.optim.name", ConfigField::zero, "", sharding_optimizers},
    {"ddp.overlap_grad_reduce", ConfigField::overlap, "", flags},
    {"model.optim.overlap_grad_sync", ConfigField::overlap, "", flags},
    {"model.fp8", ConfigField::fp8, "", flags},
    {"model.cpu_offloading", ConfigField::offload_activations, "", flags},
    {"optimizer.optimizer_cpu_offload", ConfigField::offload, "", offloads},
    {"model.expert_tensor_parallel_size", ConfigField::expert_tensor},
    {"model.peft.lora_tuning.adapter_dim", ConfigField::adapter_rank},
    {"peft.dim", ConfigField::adapter_rank},
    {"model.optim.name", ConfigField::optimizer, "", optimizers},
    {"optimizer.optimizer", ConfigField::optimizer, "", optimizers},
    {"model.num_layers", ConfigField::layers},
    {"model.hidden_size", ConfigField::hidden},
    {"model.num_attention_heads", ConfigField::heads},
    {"model.num_query_groups", ConfigField::kv_heads},
    {"model.kv_channels", ConfigField::head_size},
    {"model.ffn_hidden_size", ConfigField::feed_forward},
    {"model.vocab_size", ConfigField::vocabulary},
    {"model.make_vocab_size_divisible_by", ConfigField::vocabulary_multiple},
    {"model.max_position_embeddings", ConfigField::positions},
    {"model.encoder_seq_length", ConfigField::sequence},
    {"model.seq_length", ConfigField::sequence},
    {"model.data.seq_length", ConfigField::sequence},
    {"dataset.seq_length", ConfigField::sequence},
    {"dataset.sequence_length", ConfigField::sequence},
    {"model.num_moe_experts", ConfigField::experts},
    {"model.moe_router_topk", ConfigField::active_experts},
    {"model.moe_ffn_hidden_size", ConfigField::expert_feed_forward},
    {"model.activation", ConfigField::activation, "", activations},
    {"model.gated_linear_unit", ConfigField::gated, "", flags},
    {"model.normalization", ConfigField::norm, "", norms},
    {"model.position_embedding_type", ConfigField::position, "", positions},
    {"model.rotary_percentage", ConfigField::rotary_percent},
    {"model.rotary_percent", ConfigField::rotary_percent},
    {"model.bias", ConfigField::bias, "", flags},
    {"model.add_bias_linear", ConfigField::bias, "", flags},
    {"model.add_qkv_bias", ConfigField::qkv_bias, "", flags},
    {"model.qk_layernorm", ConfigField::query_key_norm, "", flags},
    {"model.share_embeddings_and_output_weights", ConfigField::tied, "", flags},
    {"model.hidden_dropout", ConfigField::hidden_dropout},
    {"model.attention_dropout", ConfigField::attention_dropout},
    {"model.multi_latent_attention", ConfigField::latent, "", flags},
    {"model.tokenizer.model", ConfigField::tokenizer},
    {"model.tokenizer.type", ConfigField::tokenizer},
    {"tokenizer.tokenizer_model", ConfigField::tokenizer},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::norm, "layer"},
                                                  {ConfigField::position, "learned"},
                                                  {ConfigField::bias, "yes"},
                                                  {ConfigField::tied, "yes"},
                                                  {ConfigField::hidden_dropout, "0.1"},
                                                  {ConfigField::attention_dropout, "0.1"},
                                                  {ConfigField::vocabulary_multiple, "128"}});

constexpr auto not_modelled = std::to_array<std::string_view>(
    {"model.ub_tp_comm_overlap", "model.tp_comm_overlap", "model.megatron_amp_O2", "model.fp8_params",
     "model.grad_allreduce_chunk_size_mb", "model.moe_layer_freq", "model.moe_shared_expert_intermediate_size",
     "model.moe_token_dispatcher_type", "model.window_size", "model.mtp_num_layers", "model.cuda_graph_impl",
     "model.enable_cuda_graph", "model.pipeline_model_parallel_layout", "model.rampup_batch_size", "ddp.grad_reduce_in_fp32",
     "optimizer.use_precision_aware_optimizer", "model.peft.lora_tuning.target_modules", "peft.target_modules",
     "comm_overlap.tp_comm_overlap"});

}  // namespace nemo_tables

const ConfigurationFormat megatron_yaml{"NeMo or Megatron-Bridge",   "nemo",
                                        ConfigurationLanguage::yaml, nemo_tables::rows,
                                        nemo_tables::usual,          nemo_tables::not_modelled};

}  // namespace ddl
