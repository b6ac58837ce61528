#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace picotron_tables {

// Sources of names and defaults: huggingface/picotron, template/base_config.json, train.py and picotron/data_parallel.
constexpr auto precisions = argument_words("bfloat16=bf16", "float32=fp32", "float16=fp16");
constexpr auto engines = argument_words("1f1b=1f1b", "afab=gpipe");
constexpr auto attentions = argument_words("true=flash2", "false=unfused");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.name", ConfigField::model},
    {"model.num_hidden_layers", ConfigField::layers},
    {"model.num_attention_heads", ConfigField::heads},
    {"model.num_key_value_heads", ConfigField::kv_heads},
    {"model.use_flash_attention", ConfigField::attention, "", attentions},
    {"model.dtype", ConfigField::precision, "", precisions},
    {"distributed.tp_size", ConfigField::tensor},
    {"distributed.cp_size", ConfigField::context},
    {"distributed.pp_size", ConfigField::pipeline},
    {"distributed.dp_size", ConfigField::replicas},
    {"distributed.pp_engine", PlanChoice::schedule, "", engines},
    {"training.seq_length", ConfigField::sequence},
    {"training.micro_batch_size", ConfigField::micro_batch},
    {"training.gradient_accumulation_steps", ConfigField::accumulation},
});

// Weights and the states of AdamW have the type of `model.dtype`; there is no second copy of the weights.
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {ConfigField::pure, "yes"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {PlanChoice::zero, "0"}});

constexpr auto marks = argument_names("distributed.pp_size", "distributed.dp_size", "distributed.pp_engine");

constexpr auto harmless = argument_names("model.use_fused_adam", "training.*", "distributed.backend", "dataset*",
                                         "checkpoint*", "logging*", "environment*");

constexpr auto refused = std::to_array<RefusedArgument>({
    {"distributed.use_cpu", "the training runs on processors", "set the key to false"},
});

}  // namespace picotron_tables

const ConfigurationFormat picotron_json{
    .name = "picotron",
    .software = "pytorch",
    .language = ConfigurationLanguage::json,
    .rows = picotron_tables::rows,
    .usual = picotron_tables::usual,
    .not_modeled = {},
    .missing = {},
    .marks = picotron_tables::marks,
    .programs = {},
    .harmless = picotron_tables::harmless,
    .refused = picotron_tables::refused,
    .also = ConfigurationLanguage::yaml,
    .resizes_named = true,
};

}  // namespace ddl
