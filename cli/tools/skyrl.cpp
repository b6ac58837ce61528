#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace skyrl_tables {

// Sources of names and defaults: NovaSky-AI/SkyRL, skyrl/train/config/config.py and sft_config.py.
constexpr auto strategies = argument_words("fsdp=fsdp", "fsdp2=fsdp", "megatron=megatron");
constexpr auto recomputed = argument_words("true=full", "false=none");
constexpr auto weights = argument_words("true=weights", "false=");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"trainer.strategy", ConfigField::distributed_type, "", strategies},
    {"trainer.policy.model.path", ConfigField::model},
    {"trainer.policy.model.lora.rank", ConfigField::adapter_rank},
    {"trainer.policy_mini_batch_size", ConfigField::global_batch},
    {"generator.n_samples_per_prompt", ConfigField::samples_each},
    {"trainer.micro_train_batch_size_per_gpu", ConfigField::micro_batch},
    {"trainer.max_prompt_length", ConfigField::added_tokens},
    {"generator.sampling_params.max_generate_length", ConfigField::sequence},
    {"trainer.gradient_checkpointing", PlanChoice::recompute, "", recomputed},
    {"trainer.policy.sequence_parallel_size", ConfigField::context, "", {}, "fsdp"},
    {"trainer.policy.sequence_parallel_size", PlanChoice::context_exchange, "ulysses", {}, "fsdp"},
    {"trainer.policy.fsdp_config.cpu_offload", PlanChoice::offload, "", weights, "fsdp"},
    {"trainer.policy.megatron_config.tensor_model_parallel_size", ConfigField::tensor, "", {}, "megatron"},
    {"trainer.policy.megatron_config.pipeline_model_parallel_size", ConfigField::pipeline, "", {}, "megatron"},
    {"trainer.policy.megatron_config.context_parallel_size", ConfigField::context, "", {}, "megatron"},
    {"trainer.policy.megatron_config.expert_model_parallel_size", ConfigField::expert, "", {}, "megatron"},
    {"trainer.policy.megatron_config.expert_tensor_parallel_size", ConfigField::expert_tensor, "", {}, "megatron"},
    {"trainer.placement.policy_num_nodes", ConfigField::nodes},
    {"trainer.placement.policy_num_gpus_per_node", ConfigField::gpus_per_node},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::distributed_type, "fsdp"},
                                                  {ConfigField::global_batch, "256"},
                                                  {ConfigField::samples_each, "5"},
                                                  {ConfigField::micro_batch, "1"},
                                                  {ConfigField::added_tokens, "512"},
                                                  {ConfigField::sequence, "1024"},
                                                  {ConfigField::nodes, "1"},
                                                  {PlanChoice::zero, "3", "fsdp"},
                                                  {PlanChoice::zero, "1", "megatron"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto not_modeled = argument_names("trainer.remove_microbatch_padding", "trainer.max_tokens_per_microbatch");

constexpr auto marks = argument_names("trainer.policy.model.path", "trainer.placement*", "trainer.policy_mini_batch_size");
constexpr auto programs = argument_names("skyrl.train.entrypoints*", "skyrl_train.entrypoints*");

constexpr auto harmless = argument_names("data.*", "environment*", "generator.*", "trainer.*");

}  // namespace skyrl_tables

const ConfigurationFormat skyrl_overrides{
    .name = "SkyRL",
    .software = "fsdp",
    .language = ConfigurationLanguage::yaml,
    .rows = skyrl_tables::rows,
    .usual = skyrl_tables::usual,
    .not_modeled = skyrl_tables::not_modeled,
    .marks = skyrl_tables::marks,
    .programs = skyrl_tables::programs,
    .harmless = skyrl_tables::harmless,
    .note = "the answer is one update of the policy; generation, rewards, the reference and the critic are not in it",
    .loads_half = true};

namespace skyrl_sft_tables {

constexpr auto rows = std::to_array<ArgumentRow>({
    {"strategy", ConfigField::distributed_type, "", skyrl_tables::strategies},
    {"model.path", ConfigField::model},
    {"model.lora.rank", ConfigField::adapter_rank},
    {"batch_size", ConfigField::global_batch},
    {"micro_train_batch_size_per_gpu", ConfigField::micro_batch},
    {"max_length", ConfigField::sequence},
    {"gradient_checkpointing", PlanChoice::recompute, "", skyrl_tables::recomputed},
    {"fsdp_config.cpu_offload", PlanChoice::offload, "", skyrl_tables::weights, "fsdp"},
    {"sequence_parallel_size", ConfigField::context, "", {}, "fsdp"},
    {"megatron_config.tensor_model_parallel_size", ConfigField::tensor, "", {}, "megatron"},
    {"megatron_config.pipeline_model_parallel_size", ConfigField::pipeline, "", {}, "megatron"},
    {"megatron_config.context_parallel_size", ConfigField::context, "", {}, "megatron"},
    {"megatron_config.expert_model_parallel_size", ConfigField::expert, "", {}, "megatron"},
    {"megatron_config.expert_tensor_parallel_size", ConfigField::expert_tensor, "", {}, "megatron"},
    {"placement.num_nodes", ConfigField::nodes},
    {"placement.num_gpus_per_node", ConfigField::gpus_per_node},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::distributed_type, "megatron"},
                                                  {ConfigField::global_batch, "4"},
                                                  {ConfigField::micro_batch, "2"},
                                                  {ConfigField::nodes, "1"},
                                                  {ConfigField::gpus_per_node, "4"},
                                                  {PlanChoice::zero, "3", "fsdp"},
                                                  {PlanChoice::zero, "1", "megatron"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto not_modeled =
    argument_names("remove_microbatch_padding", "use_sequence_packing", "max_tokens_per_microbatch");
constexpr auto programs = argument_names("skyrl.train.main_sft", "skyrl_train.main_sft");
constexpr auto harmless = argument_names("train_*", "messages_key", "tools_key", "system_key", "num_steps", "num_epochs",
                                         "seed", "eval_*", "optimizer_config.*", "logger", "project_name", "run_name",
                                         "ckpt_*", "hf_*", "resume_from", "megatron_config.*", "fsdp_config.*");

}  // namespace skyrl_sft_tables

const ConfigurationFormat skyrl_sft_overrides{.name = "SkyRL (supervised fine-tuning)",
                                              .software = "fsdp",
                                              .language = ConfigurationLanguage::yaml,
                                              .rows = skyrl_sft_tables::rows,
                                              .usual = skyrl_sft_tables::usual,
                                              .not_modeled = skyrl_sft_tables::not_modeled,
                                              .programs = skyrl_sft_tables::programs,
                                              .harmless = skyrl_sft_tables::harmless,
                                              .loads_half = true};

}  // namespace ddl
