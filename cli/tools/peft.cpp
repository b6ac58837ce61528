#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace peft_tables {

// The file adapter_config.json next to adapters describes them and names their base model [huggingface/peft,
// src/peft/config.py; src/peft/tuners/lora/config.py, loha/config.py and lokr/config.py]. It has no settings of the
// training.
constexpr auto types = argument_words("LORA=lora", "LOHA>lora", "LOKR>lora");
// Without DoRA, `peft_type` names the kind.
constexpr auto weighted = argument_words("true=dora", "false=");
constexpr auto kinds = argument_words("LOHA=loha", "LOKR=lokr", "*=");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"base_model_name_or_path", ConfigField::model},
    {"peft_type", ConfigField::adapter, "", types},
    only_read(weak({"peft_type", ConfigField::adapter_kind, "", kinds})),
    only_read({"use_dora", ConfigField::adapter_kind, "", weighted}),
    {"r", ConfigField::adapter_rank},
    only_read({"lora_dropout", ConfigField::adapter_dropout}),
    only_read({"target_modules", ConfigField::adapter_layers}),
    only_read({"modules_to_save", ConfigField::trained_modules}),
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter_rank, "8"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::loaded, "half"},
                                                  {ConfigField::optimizer, "adamw"}});

constexpr auto not_modeled = argument_names("rank_pattern*", "layers_to_transform*", "layer_replication", "exclude_modules*",
                                            "trainable_token_indices*", "target_parameters*", "decompose_both",
                                            "decompose_factor", "use_effective_conv2d");

constexpr auto marks = argument_names("peft_type");

constexpr auto harmless =
    argument_names("auto_mapping*", "peft_version", "revision", "inference_mode", "lora_alpha", "alpha", "fan_in_fan_out",
                   "bias", "lora_bias", "use_rslora", "init_*", "layers_pattern*", "alpha_pattern*", "megatron_*",
                   "loftq_config*", "eva_config*", "corda_config*", "lora_ga_config*", "velora_config*",
                   "monteclora_config*", "arrow_config*", "alora_*", "use_qalora", "qalora_*", "task_type", "rank_dropout*",
                   "module_dropout", "use_bdlora", "ensure_weight_tying", "library_name", "runtime_config*");

constexpr auto refused = std::to_array<RefusedArgument>({
    {"peft_type", "these adapters are not read", "set model and plan by options: recommend MODEL@lora=16 --gpus N", false,
     "", "LORA LOHA LOKR"},
});

}  // namespace peft_tables

const ConfigurationFormat peft_json{.name = "PEFT",
                                    .software = "pytorch",
                                    .language = ConfigurationLanguage::json,
                                    .rows = peft_tables::rows,
                                    .usual = peft_tables::usual,
                                    .not_modeled = peft_tables::not_modeled,
                                    .marks = peft_tables::marks,
                                    .harmless = peft_tables::harmless,
                                    .refused = peft_tables::refused,
                                    .loads_half = true};

}  // namespace ddl
