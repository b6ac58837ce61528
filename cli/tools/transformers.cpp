#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace transformers_tables {

// Names: Hugging Face, transformers, training_args.py; its examples, pytorch/language-modeling/run_clm.py.
constexpr auto halves = argument_words("true=fp16", "false=");
constexpr auto brains = argument_words("true=bf16", "false=");
constexpr auto recomputed = argument_words("true=full", "false=none");
constexpr auto flags = argument_words("true=yes", "false=no");
constexpr auto optimizers =
    argument_words("adamw_torch=adamw", "adamw_torch_fused=adamw", "adamw_hf=adamw", "adafactor=adafactor",
                   "adamw_bnb_8bit=adam8bit", "adamw_8bit=adam8bit", "sgd=momentum");
constexpr auto attentions =
    argument_words("flash_attention_2=fused", "flash_attention_3=fused", "sdpa=fused", "eager=unfused");
constexpr auto shards =
    argument_words("full_shard=3", "full_shard auto_wrap=3", "shard_grad_op=2", "shard_grad_op auto_wrap=2", "no_shard=0");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"--model_name_or_path", ConfigField::model},
    {"--model_id", ConfigField::model},
    {"--per_device_train_batch_size", ConfigField::micro_batch},
    {"--gradient_accumulation_steps", ConfigField::accumulation},
    {"--bf16", ConfigField::precision, "bf16", brains},
    {"--fp16", ConfigField::precision, "fp16", halves},
    {"--gradient_checkpointing", PlanChoice::recompute, "full", recomputed},
    {"--model_max_length", ConfigField::sequence},
    {"--max_seq_length", ConfigField::sequence},
    {"--max_seq_len", ConfigField::sequence},
    {"--block_size", ConfigField::sequence},
    {"--optim", ConfigField::optimizer, "", optimizers},
    {"--attn_implementation", ConfigField::attention, "", attentions},
    {"--fsdp", PlanChoice::zero, "", shards},
    {"--lora_r", ConfigField::adapter_rank},
    {"--torch_compile", ConfigField::compiled, "yes", flags},
});

constexpr auto not_modelled = argument_names("--torch_empty_cache_steps", "--use_liger_kernel", "--lora_target_modules",
                                             "--load_in_4bit", "--load_in_8bit");

}  // namespace transformers_tables

const ConfigurationFormat transformers_arguments{"Hugging Face Trainer",    "pytorch", ConfigurationLanguage::script,
                                                 transformers_tables::rows, {},        transformers_tables::not_modelled};

}  // namespace ddl
