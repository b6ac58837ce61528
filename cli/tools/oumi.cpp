#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace oumi_tables {

// Sources of names and defaults: oumi-ai/oumi, src/oumi/core/configs/params (model_params.py, training_params.py,
// peft_params.py and fsdp_params.py).
constexpr auto pure = argument_words("bfloat16=yes", "float16=yes", "float32=no");
constexpr auto attentions = argument_words("sdpa=fused", "flash_attention_2=flash2", "flash_attention_3=flash3",
                                           "eager=unfused", "*flash-attn3*=flash3", "*flash-attn*=flash2", "*flash*=fused");
constexpr auto adapters = argument_words("true=lora", "false=none");
constexpr auto four_bits = argument_words("true=nf4", "false=");
constexpr auto kinds = argument_words("true=fsdp", "false=ddp");
constexpr auto shards = argument_words("FULL_SHARD=3", "SHARD_GRAD_OP=2", "HYBRID_SHARD=3", "NO_SHARD=0");
constexpr auto optimizers =
    argument_words("adamw_torch=adamw", "adamw_torch_fused=adamw", "adafactor=adafactor", "adamw_8bit=adam8bit",
                   "paged_adamw_8bit=paged-adam8bit", "sgd=momentum", "adamw=adamw", "adam=adam");

constexpr auto frozen = argument_words("*vis*=yes", "*=");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.model_name", ConfigField::model},
    {"model.model_max_length", ConfigField::sequence},
    {"model.torch_dtype_str", ConfigField::precision, "", common::torch_types},
    {"model.torch_dtype_str", ConfigField::pure, "", pure},
    {"model.attn_implementation", ConfigField::attention, "", attentions},
    only_read({"model.freeze_layers", ConfigField::frozen_vision, "", frozen}),
    {"model.enable_liger_kernel", ConfigField::loss, "", common::fused_heads},
    {"training.per_device_train_batch_size", ConfigField::micro_batch},
    {"training.gradient_accumulation_steps", ConfigField::accumulation},
    {"training.enable_gradient_checkpointing", PlanChoice::recompute, "", common::recomputed},
    {"training.optimizer", ConfigField::optimizer, "", optimizers},
    {"training.compile", ConfigField::compiled, "", common::flags},
    only_read({"model.compile", ConfigField::compiled, "", common::flags}),
    {"training.use_peft", ConfigField::adapter, "", adapters},
    {"peft.lora_r", ConfigField::adapter_rank},
    only_read({"peft.lora_dropout", ConfigField::adapter_dropout}),
    only_read({"peft.lora_target_modules", ConfigField::adapter_layers}),
    only_read({"peft.lora_modules_to_save", ConfigField::trained_modules}),
    {"peft.q_lora", ConfigField::base, "", four_bits},
    {"fsdp.enable_fsdp", ConfigField::distributed_type, "", kinds},
    {"fsdp.sharding_strategy", PlanChoice::zero, "", shards, "fsdp"},
    {"fsdp.sharding_strategy", ConfigField::shards_nodes, "", common::hybrids, "fsdp"},
    {"fsdp.cpu_offload", PlanChoice::offload, "", common::offloads, "fsdp"},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "none"},
                                                  {ConfigField::adapter_rank, "8"},
                                                  {ConfigField::precision, "fp32"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::micro_batch, "8"},
                                                  {ConfigField::distributed_type, "ddp"},
                                                  {PlanChoice::recompute, "none"}});

constexpr auto not_modeled = argument_names(
    "data.train.pack", "training.mixed_precision_dtype", "deepspeed.enable_deepspeed", "model.model_kwargs*",
    "fsdp.mixed_precision", "fsdp.forward_prefetch", "training.trainer_kwargs*", "training.verl_config_overrides*",
    "training.use_deterministic", "training.full_determinism", "training.empty_device_cache_steps");

// Files for evaluation and inference also have `model` keys, so keys of trainings are the marks.
constexpr auto marks = argument_names("training.trainer_type", "training.enable_gradient_checkpointing", "training.use_peft",
                                      "data.train.datasets");

constexpr auto harmless = argument_names("model.*", "data.*", "training.*", "peft.*", "fsdp.*", "evaluation*", "tokenizer*");

constexpr auto name_trained = "pass the configuration of the training instead";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"training.trainer_type", "samples are generated, or further models run, in addition to training",
     "use options for the training step alone: --model, --gpus, --global-batch", false, "*DPO *KTO *GRPO *GKD *GOLD *PPO"},
    {"generation.max_new_tokens", "text is generated", name_trained},
    {"engine", "text is generated", name_trained},
    {"model.adapter_model", "adapters of an earlier training are loaded", name_trained},
});

}  // namespace oumi_tables

const ConfigurationFormat oumi_yaml{
    .name = "Oumi",
    .software = "fsdp",
    .language = ConfigurationLanguage::yaml,
    .rows = oumi_tables::rows,
    .usual = oumi_tables::usual,
    .not_modeled = oumi_tables::not_modeled,
    .missing = {},
    .marks = oumi_tables::marks,
    .programs = {},
    .harmless = oumi_tables::harmless,
    .refused = oumi_tables::refused,
    .loads_half = true,
};

}  // namespace ddl
