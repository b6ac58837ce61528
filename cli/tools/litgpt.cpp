#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace litgpt_tables {

// Sources of names and defaults: Lightning-AI/litgpt, litgpt/args.py, litgpt/finetune/lora.py and full.py,
// litgpt/pretrain.py.
constexpr auto precisions =
    argument_words("bf16-true=bf16", "bf16-mixed=bf16", "16-true=fp16", "16-mixed=fp16", "32-true=fp32", "32>fp32");
constexpr auto pure = argument_words("bf16-true=yes", "bf16-mixed=no", "16-true=yes", "16-mixed=no", "32-true=no", "32>no");
constexpr auto quantized =
    argument_words("bnb.nf4=nf4", "bnb.nf4-dq=nf4-double", "bnb.int8-training=int8", "bnb.fp4>nf4", "bnb.fp4-dq>nf4-double");
constexpr auto optimizers =
    argument_words("AdamW=adamw", "torch.optim.AdamW=adamw", "torch.optim.Adam=adam", "SGD=momentum",
                   "torch.optim.SGD=momentum", "bitsandbytes.optim.PagedAdamW=paged-adamw",
                   "bitsandbytes.optim.AdamW8bit=adam8bit", "bitsandbytes.optim.PagedAdamW8bit=paged-adam8bit");

// The matrices with adapters have a key each. A minus removes a matrix that has adapters by default.
constexpr auto queries = argument_words("true=q_proj", "false=-q_proj");
constexpr auto keys = argument_words("true=k_proj", "false=");
constexpr auto values = argument_words("true=v_proj", "false=-v_proj");
constexpr auto projections = argument_words("true=o_proj", "false=");
constexpr auto perceptrons = argument_words("true=mlp", "false=");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"checkpoint_dir|model_name", ConfigField::model},
    {"model_config.n_layer", ConfigField::layers},
    {"model_config.n_embd", ConfigField::hidden},
    {"model_config.n_head", ConfigField::heads},
    {"model_config.n_query_groups", ConfigField::kv_heads},
    {"model_config.head_size", ConfigField::head_size},
    {"model_config.intermediate_size", ConfigField::feed_forward},
    {"model_config.padded_vocab_size", ConfigField::vocabulary},
    weak({"lora_r", ConfigField::adapter, "lora"}),
    {"lora_r", ConfigField::adapter_rank},
    only_read({"lora_dropout", ConfigField::adapter_dropout}),
    only_read({"lora_query", ConfigField::adapter_layers, "", queries}),
    only_read({"lora_key", ConfigField::adapter_layers, "", keys}),
    only_read({"lora_value", ConfigField::adapter_layers, "", values}),
    only_read({"lora_projection", ConfigField::adapter_layers, "", projections}),
    only_read({"lora_mlp", ConfigField::adapter_layers, "", perceptrons}),
    {"quantize", ConfigField::base, "", quantized},
    {"precision", ConfigField::precision, "", precisions},
    {"precision", ConfigField::pure, "", pure},
    {"devices", ConfigField::gpus_per_node},
    {"num_nodes", ConfigField::nodes},
    {"train.global_batch_size", ConfigField::global_batch},
    {"train.micro_batch_size", ConfigField::micro_batch},
    {"train.max_seq_length", ConfigField::sequence},
    {"optimizer|optimizer.class_path", ConfigField::optimizer, "", optimizers},
});
constexpr auto rows = one_name_each<arguments>();

// With several devices, LitGPT uses FSDP. Its full fine-tuning then recomputes all blocks, but no key of a file says so.
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::adapter, "none"},
                                                  {ConfigField::adapter_layers, "q_proj v_proj"},
                                                  {ConfigField::adapter_dropout, "0.05"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::pure, "yes"},
                                                  {PlanChoice::zero, "3"},
                                                  {ConfigField::optimizer, "adamw"}});

constexpr auto not_modeled = argument_names("lora_head", "model_config.hf_config*");

constexpr auto marks = argument_names("train.lr_warmup_steps", "train.lr_warmup_fraction", "lora_query", "train.max_tokens");
constexpr auto programs = argument_names("litgpt");

constexpr auto harmless = argument_names("out_dir", "data*", "train.*", "eval*", "log*", "seed", "optimizer.*",
                                         "tokenizer_dir", "initial_checkpoint_dir", "resume", "access_token", "lora_*",
                                         "compiler", "executors", "model_config", "model_config.*", "initial_validation");

constexpr auto other_model = "name the trained model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"tool:-command", "nothing is trained", "pass the command that trains: litgpt finetune", false,
     "download chat generate* serve evaluate convert_* merge_lora"},
    {"adapter_start_layer", "only low-rank adapters are read", other_model},
    {"model_config.parallel_residual", "no supported family of models has these layers", other_model, true, "true"},
});

}  // namespace litgpt_tables

const ConfigurationFormat litgpt_yaml{.name = "LitGPT",
                                      .software = "fsdp",
                                      .language = ConfigurationLanguage::yaml,
                                      .rows = litgpt_tables::rows,
                                      .usual = litgpt_tables::usual,
                                      .not_modeled = litgpt_tables::not_modeled,
                                      .marks = litgpt_tables::marks,
                                      .programs = litgpt_tables::programs,
                                      .harmless = litgpt_tables::harmless,
                                      .refused = litgpt_tables::refused,
                                      .loads_half = true};

}  // namespace ddl
