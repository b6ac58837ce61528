#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace olmo_tables {

// Sources of names and defaults: allenai/OLMo, olmo/config.py and olmo/model.py.
constexpr auto rotary = argument_words("true=rope", "false=learned");
// Norms without weights are predicted as if they had weights.
constexpr auto norms = argument_words("rms=rms", "default>rms", "low_precision>rms");
constexpr auto activations = argument_words("swiglu=swiglu", "gelu=gelu", "relu>gelu");
constexpr auto precisions = argument_words("amp_bf16=bf16", "amp_fp16=fp16", "fp32=fp32");
constexpr auto optimizers = argument_words("adamw=adamw");
constexpr auto shardings = argument_words("FULL_SHARD=3", "SHARD_GRAD_OP=2", "NO_SHARD=0", "HYBRID_SHARD=3");
constexpr auto strategies = argument_words("fsdp=3", "ddp=0", "single=0");
constexpr auto checkpoints =
    argument_words("whole_layer=full", "fine_grained>selective", "one_in_two>full", "one_in_three>full", "one_in_four>full",
                   "one_in_eight>full", "two_in_three>full", "three_in_four>full");
constexpr auto shares = argument_words("one_in_two=0.5", "one_in_three=0.3333", "one_in_four=0.25", "one_in_eight=0.125",
                                       "two_in_three=0.6667", "three_in_four=0.75", "whole_layer=", "fine_grained=");
constexpr auto attentions = argument_words("true=flash2", "false=unfused");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.d_model", ConfigField::hidden},
    {"model.n_heads", ConfigField::heads},
    {"model.n_kv_heads", ConfigField::kv_heads},
    {"model.n_layers", ConfigField::layers},
    {"model.mlp_ratio", ConfigField::feed_forward_ratio},
    {"model.mlp_hidden_size", ConfigField::feed_forward},
    {"model.max_sequence_length", ConfigField::sequence},
    weak({"model.vocab_size", ConfigField::vocabulary}),
    {"model.embedding_size", ConfigField::vocabulary},
    {"model.activation_type", ConfigField::activation, "", activations},
    {"model.rope", ConfigField::position, "", rotary},
    {"model.layer_norm_type", ConfigField::norm, "", norms},
    {"model.include_bias", ConfigField::bias, "", common::flags},
    {"model.attention_layer_norm", ConfigField::query_key_norm, "", common::flags},
    {"model.weight_tying", ConfigField::tied, "", common::flags},
    {"model.attention_dropout", ConfigField::attention_dropout},
    {"model.residual_dropout", ConfigField::hidden_dropout},
    {"model.flash_attention", ConfigField::attention, "", attentions},
    {"global_train_batch_size", ConfigField::global_batch},
    {"device_train_microbatch_size", ConfigField::micro_batch},
    {"precision", ConfigField::precision, "", precisions},
    {"optimizer.name", ConfigField::optimizer, "", optimizers},
    weak({"distributed_strategy", PlanChoice::zero, "", strategies}),
    {"fsdp.sharding_strategy", PlanChoice::zero, "", shardings},
    {"fsdp.sharding_strategy", ConfigField::shards_nodes, "", common::hybrids},
    {"activation_checkpointing", PlanChoice::recompute, "", checkpoints},
    {"activation_checkpointing", ConfigField::recompute_share, "", shares},
});

// `mlp_ratio` and `mlp_hidden_size` are sums of the widths of gate and value. OLMo's default strategy is FSDP.
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::feed_forward_halves, "yes"},
                                                  {ConfigField::feed_forward_ratio, "4"},
                                                  {ConfigField::activation, "swiglu"},
                                                  {ConfigField::position, "learned"},
                                                  {ConfigField::norm, "rms"},
                                                  {ConfigField::bias, "yes"},
                                                  {ConfigField::tied, "yes"},
                                                  {ConfigField::attention, "unfused"},
                                                  {ConfigField::hidden_dropout, "0.1"},
                                                  {ConfigField::attention_dropout, "0.1"},
                                                  {ConfigField::precision, "fp32"},
                                                  {PlanChoice::zero, "3"}});

constexpr auto not_modeled = argument_names("compile.mode", "ddp.grad_sync_mode", "model.multi_query_attention",
                                            "fsdp.hybrid_sharding_num_model_replicas", "softmax_auxiliary_loss");

constexpr auto marks =
    argument_names("model.mlp_ratio", "model.mlp_hidden_size", "model.block_type", "model.max_sequence_length",
                   "fsdp.wrapping_strategy", "tokenizer.identifier", "data.memmap_dtype");

constexpr auto harmless = argument_names(
    "run_name", "seed", "epoch", "dry_run", "wandb*", "model.*", "optimizer.*", "scheduler.*", "tokenizer.*", "save_*",
    "load_path*", "remote_save_folder", "max_duration", "fsdp.*", "ddp.*", "compile*", "max_grad_norm*", "speed_monitor*",
    "eval_*", "device_eval_batch_size", "evaluators*", "data*", "auxiliary_loss_multiplier", "fused_loss",
    "gen1_gc_interval", "sharded_checkpointer", "console_log_interval", "restore_*", "reset_*", "no_pre_train_checkpoint",
    "canceled_check_interval", "try_load_latest_save", "time_limit", "extra_steps_after_cancel", "early_stopping_factor",
    "stop_*", "python_profiling", "torch_profiling", "force_save_*", "hf_datasets_cache_dir", "module_outputs_save_steps",
    "new_style_checkpoints", "single*", "instance_filter*", "logger*");

constexpr auto other_model = "name the nearest model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"model.alibi", "no supported family of models has such positions", other_model, true, "true"},
    {"model.multi_query_attention", "no supported family of models has multi-query attention", other_model, true, "true"},
    {"model.block_type", "no supported family of models has this order of layers", other_model, true, "moe"},
});

}  // namespace olmo_tables

const ConfigurationFormat olmo_yaml{"OLMo",
                                    "fsdp",
                                    ConfigurationLanguage::yaml,
                                    olmo_tables::rows,
                                    olmo_tables::usual,
                                    olmo_tables::not_modeled,
                                    {},
                                    olmo_tables::marks,
                                    {},
                                    olmo_tables::harmless,
                                    olmo_tables::refused};

}  // namespace ddl
