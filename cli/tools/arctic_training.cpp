#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace arctic_training_tables {

// Sources of names and defaults: snowflakedb/ArcticTraining, arctic_training/config/trainer.py, model.py and data.py. The
// section `deepspeed` is a configuration of DeepSpeed.
constexpr auto moved = argument_words("cpu_adam=optimizer", "cpuadam=optimizer", "*=");
constexpr auto attentions =
    argument_words("flash_attention_2=flash2", "flash_attention_3=flash3", "sdpa=fused", "flex_attention=fused",
                   "eager=unfused", "*flash-attn3*=flash3", "*flash-attn*=flash2", "*flash*=fused");
constexpr auto precisions =
    argument_words("bf16=bf16", "bfloat16=bf16", "fp16=fp16", "float16=fp16", "fp32=fp32", "float32=fp32");
constexpr auto kept = argument_words("true=none", "false=full");
constexpr auto adapters = argument_words("lora=lora");
constexpr auto losses = argument_words("liger=linear", "*=");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.name_or_path", ConfigField::model},
    {"model.type", ConfigField::loss, "", losses},
    {"model.attn_implementation", ConfigField::attention, "", attentions},
    {"model.dtype", ConfigField::precision, "", precisions},
    {"model.disable_activation_checkpoint", PlanChoice::recompute, "", kept},
    {"model.peft_config.peft_type", ConfigField::adapter, "", adapters},
    {"model.peft_config.r", ConfigField::adapter_rank},
    only_read({"model.peft_config.lora_dropout", ConfigField::adapter_dropout}),
    only_read({"model.peft_config.target_modules", ConfigField::adapter_layers}),
    only_read({"model.peft_config.modules_to_save", ConfigField::trained_modules}),
    {"micro_batch_size", ConfigField::micro_batch},
    {"gradient_accumulation_steps", ConfigField::accumulation},
    {"sequence_parallel_size", ConfigField::context},
    {"sequence_parallel_size", PlanChoice::context_exchange, "ulysses"},
    {"activation_checkpoint_cpu_offload", PlanChoice::offload_activations, "", common::flags},
    only_read({"tiled_mlp_compute", ConfigField::mlp_tiles, "", common::automatic_tiles}),
    only_read({"model.peft_config.use_dora", ConfigField::adapter_kind, "", common::weighted_adapters}),
    {"data.max_length", ConfigField::sequence},
    weak({"optimizer.type", PlanChoice::offload, "", moved}),
    {"deepspeed", ConfigField::deepspeed_file},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::micro_batch, "1"},
                                                  {ConfigField::sequence, "8192"},
                                                  {ConfigField::adapter, "none"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto not_modeled = argument_names("arctic_moe", "data.pack_samples", "expert_parallel_size");

constexpr auto marks = argument_names("exit_iteration+model.name_or_path", "data.sources*+model.name_or_path");

constexpr auto harmless = argument_names("type", "code", "exit_*", "min_iterations", "train_*", "eval_*", "epochs", "seed",
                                         "data.*", "optimizer.*", "scheduler.*", "logger.*", "wandb.*", "checkpoint*",
                                         "tokenizer*", "model.save_name", "model.peft_config.lora_alpha",
                                         "model.peft_config.task_type", "model.peft_config.bias", "mem_profiler*", "loss_*");

constexpr auto refused = std::to_array<RefusedArgument>({
    {"type", "a second model runs without gradients, or is trained as well",
     "use options for the training step alone: --model, --gpus, --global-batch", false, "", "sft causal causal_snowflake"},
});

}  // namespace arctic_training_tables

const ConfigurationFormat arctic_training_yaml{.name = "ArcticTraining",
                                               .software = "deepspeed",
                                               .language = ConfigurationLanguage::yaml,
                                               .rows = arctic_training_tables::rows,
                                               .usual = arctic_training_tables::usual,
                                               .not_modeled = arctic_training_tables::not_modeled,
                                               .marks = arctic_training_tables::marks,
                                               .harmless = arctic_training_tables::harmless,
                                               .refused = arctic_training_tables::refused,
                                               .loads_half = true};

}  // namespace ddl
