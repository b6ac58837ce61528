#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace llm_foundry_tables {

// Sources of names and defaults: mosaicml/llm-foundry, llmfoundry/models/mpt/configuration_mpt.py,
// llmfoundry/utils/config_utils.py; mosaicml/composer, composer/distributed/dist_strategy.py.
constexpr auto precisions = argument_words("amp_bf16=bf16", "amp_fp16=fp16", "fp32=fp32", "amp_fp8=fp8");
constexpr auto optimizers = argument_words("decoupled_adamw=adamw", "adamw=adamw", "adam=adam", "decoupled_lionw>momentum");
constexpr auto shardings = argument_words("FULL_SHARD=3", "SHARD_GRAD_OP=2", "NO_SHARD=0", "HYBRID_SHARD=3");
// The version of FlashAttention is that of the software file.
constexpr auto attentions = argument_words("flash=fused", "triton=fused", "torch=unfused");
constexpr auto rotary = argument_words("true=rope", "false=");
constexpr auto alibi = argument_words("true=alibi", "false=");
constexpr auto biases = argument_words("true=no", "false=yes");
constexpr auto one_key_head = argument_words("multiquery_attention=1", "*=");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.pretrained_model_name_or_path", ConfigField::model},
    {"model.d_model", ConfigField::hidden},
    {"model.n_heads", ConfigField::heads},
    {"model.n_layers", ConfigField::layers},
    {"model.expansion_ratio", ConfigField::feed_forward_ratio},
    {"model.ffn_config.ffn_hidden_size", ConfigField::feed_forward},
    {"model.vocab_size", ConfigField::vocabulary},
    weak({"model.max_seq_len", ConfigField::sequence}),
    {"max_seq_len", ConfigField::sequence},
    {"model.no_bias", ConfigField::bias, "", biases},
    {"model.tie_word_embeddings", ConfigField::tied, "", common::flags},
    {"model.attn_config.attn_impl", ConfigField::attention, "", attentions},
    {"model.attn_config.rope", ConfigField::position, "", rotary},
    {"model.attn_config.alibi", ConfigField::position, "", alibi},
    {"model.attn_config.kv_n_heads", ConfigField::kv_heads},
    only_read({"model.attn_config.attn_type", ConfigField::kv_heads, "", one_key_head}),
    {"model.attn_config.attn_pdrop", ConfigField::attention_dropout},
    {"model.resid_pdrop", ConfigField::hidden_dropout},
    {"model.peft_config.r", ConfigField::adapter_rank},
    only_read({"model.peft_config.lora_dropout", ConfigField::adapter_dropout}),
    only_read({"model.peft_config.target_modules", ConfigField::adapter_layers}),
    {"global_train_batch_size", ConfigField::global_batch},
    {"device_train_microbatch_size", ConfigField::micro_batch},
    {"precision", ConfigField::precision, "", precisions},
    {"optimizer.name", ConfigField::optimizer, "", optimizers},
    {"fsdp_config.sharding_strategy", PlanChoice::zero, "", shardings},
    {"fsdp_config.sharding_strategy", ConfigField::shards_nodes, "", common::hybrids},
    {"fsdp_config.activation_checkpointing", PlanChoice::recompute, "", common::recomputed},
    {"fsdp_config.activation_cpu_offload", PlanChoice::offload_activations, "", common::flags},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::norm, "layer"},
                                                  {ConfigField::position, "learned"},
                                                  {ConfigField::bias, "yes"},
                                                  {ConfigField::tied, "yes"},
                                                  {ConfigField::attention, "fused"},
                                                  {ConfigField::hidden_dropout, "0"},
                                                  {ConfigField::attention_dropout, "0"},
                                                  {ConfigField::precision, "bf16"}});

constexpr auto not_modeled = argument_names(
    "fsdp_config.mixed_precision", "fsdp_config.cpu_offload", "fsdp_config.backward_prefetch",
    "fsdp_config.forward_prefetch", "fsdp_config.data_parallel_shard_degree", "fsdp_config.data_parallel_replicate_degree",
    "fsdp_config.te_*", "compile_config.mode", "train_loader.dataset.packing_ratio", "tp_config.strategy",
    "model.attn_config.sliding_window_size", "model.attn_config.qk_ln", "model.attn_config.qk_gn", "model.block_overrides*",
    "model.norm_type", "model.fc_type*", "model.emb_pdrop", "model.use_pad_tok_in_ffn");

constexpr auto marks = argument_names("train_loader.name", "train_loader.dataset*", "variables.max_seq_len",
                                      "model.expansion_ratio", "model.attn_config*");
constexpr auto programs = argument_names("llmfoundry*");

constexpr auto harmless = argument_names(
    "variables*", "data_local", "data_remote", "global_seed", "seed", "run_name", "model.*", "tokenizer*", "train_loader*",
    "eval_loader*", "scheduler*", "optimizer.*", "algorithms*", "max_duration", "eval_*", "device_eval_batch_size",
    "fsdp_config.*", "progress_bar", "log_to_console", "console_log_interval", "callbacks*", "loggers*", "save_*", "load_*",
    "icl_tasks*", "dist_timeout", "python_log_level", "autoresume", "metadata*", "tokenizer_name", "model_name_or_path",
    "compile_config*", "max_split_size_mb", "expandable_segments", "cuda_load_lazy", "accumulate_train_batch_on_tokens",
    "code_paths*", "train_dataset*");

constexpr auto other_model = "name the nearest model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {.key = "mlm_probability",
     .reason = "an encoder is trained on masked words",
     .hint = "name the trained model, such as --model bert-base; the other keys of the file are used",
     .is_of_model = true,
     .families = "bert"},
    {"model.ffn_config.ffn_type", "no supported family of models has such MLPs", other_model, true,
     "mb_moe mb_dmoe mptglu torch_dmoe"},
    // Masks of princeton-nlp/LLM-Shearing, llmshearing/configs.
    {"model.l0_module.*", "the training prunes the model", other_model, true, "*"},
    {"optimizer.name", "the memory of this optimizer is not known", "use --optimizer momentum, which needs the same memory",
     false, "decoupled_lionw_8b adalr_lion clip_lion"},
});

}  // namespace llm_foundry_tables

const ConfigurationFormat llm_foundry_yaml{"LLM Foundry",
                                           "llm-foundry",
                                           ConfigurationLanguage::yaml,
                                           llm_foundry_tables::rows,
                                           llm_foundry_tables::usual,
                                           llm_foundry_tables::not_modeled,
                                           {},
                                           llm_foundry_tables::marks,
                                           llm_foundry_tables::programs,
                                           llm_foundry_tables::harmless,
                                           llm_foundry_tables::refused};

}  // namespace ddl
