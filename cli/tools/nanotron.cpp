#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace nanotron_tables {

// Sources of names and defaults: huggingface/nanotron, src/nanotron/config/config.py,
// parallelism_config.py and models_config.py.
constexpr auto engines = argument_words("1f1b=1f1b", "afab=gpipe");
constexpr auto modes = argument_words("REDUCE_SCATTER=yes", "ALL_REDUCE=no");
constexpr auto optimizers = argument_words("adamW=adamw", "adam>adam", "sgd=momentum");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.model_config.num_hidden_layers", ConfigField::layers},
    {"model.model_config.hidden_size", ConfigField::hidden},
    {"model.model_config.num_attention_heads", ConfigField::heads},
    {"model.model_config.num_key_value_heads", ConfigField::kv_heads},
    {"model.model_config.intermediate_size", ConfigField::feed_forward},
    {"model.model_config.vocab_size", ConfigField::vocabulary},
    {"model.make_vocab_size_divisible_by", ConfigField::vocabulary_multiple},
    {"model.model_config.tie_word_embeddings", ConfigField::tied, "", common::flags},
    {"model.model_config.is_qwen2_config", ConfigField::qkv_bias, "", common::only_yes},
    {"model.dtype", ConfigField::precision, "", common::torch_types},
    {"parallelism.dp", ConfigField::replicas},
    {"parallelism.pp", ConfigField::pipeline},
    {"parallelism.tp", ConfigField::tensor},
    {"parallelism.context_parallel_size", ConfigField::context},
    {"parallelism.expert_parallel_size", ConfigField::expert},
    {"parallelism.pp_engine", PlanChoice::schedule, "", engines},
    {"parallelism.tp_mode", PlanChoice::sequence_parallel, "", modes},
    {"parallelism.recompute_layer", PlanChoice::recompute, "", common::recomputed},
    {"tokens.micro_batch_size", ConfigField::micro_batch},
    {"tokens.batch_accumulation_per_replica", ConfigField::accumulation},
    {"tokens.sequence_length", ConfigField::sequence},
    {"optimizer.zero_stage", PlanChoice::zero},
    {"optimizer.optimizer_factory.name", ConfigField::optimizer, "", optimizers},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::gated, "yes"},
                                                  {ConfigField::norm, "rms"},
                                                  {ConfigField::position, "rope"},
                                                  {ConfigField::bias, "no"},
                                                  {ConfigField::tied, "no"},
                                                  {ConfigField::precision, "bf16"},
                                                  {PlanChoice::zero, "0"}});

constexpr auto not_modeled = argument_names("optimizer.accumulate_grad_in_fp32", "parallelism.tp_recompute_allgather",
                                            "model.model_config.sliding_window_size");

constexpr auto marks = argument_names("tokens.batch_accumulation_per_replica", "tokens.micro_batch_size", "parallelism.dp",
                                      "optimizer.optimizer_factory.name", "model.model_config.is_llama_config");
constexpr auto programs = argument_names("run_train.py");

constexpr auto harmless = argument_names("checkpoints*", "data_stages*", "doremi*", "domains*", "nanoset*", "slurm*",
                                         "data.*", "general*", "lighteval*", "logging*", "profiler*", "tokenizer*",
                                         "tokens.*", "s3_upload*", "metrics_logging*", "model.*", "optimizer.*",
                                         "parallelism.tp_linear_async_communication", "parallelism.*", "experiment_logger*");

constexpr auto other_model = "name the trained model with --model; the other keys of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"model.model_config.moe_config*", "the experts have a separate parallel plan", other_model, true},
    {"model.model_config.moe_num_experts", "the experts have a separate parallel plan", other_model, true},
    {"model.model_config.is_starcoder2_config", "the blocks differ from those of Llama", other_model, true, "true"},
    {"model.model_config.is_mamba_config", "the layers are not transformer blocks", other_model, true, "true"},
});

}  // namespace nanotron_tables

const ConfigurationFormat nanotron_yaml{"nanotron",
                                        "megatron",
                                        ConfigurationLanguage::yaml,
                                        nanotron_tables::rows,
                                        nanotron_tables::usual,
                                        nanotron_tables::not_modeled,
                                        {},
                                        nanotron_tables::marks,
                                        nanotron_tables::programs,
                                        nanotron_tables::harmless,
                                        nanotron_tables::refused};

}  // namespace ddl
