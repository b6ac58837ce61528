#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace skyrl_tables {

// Sources of names and defaults: NovaSky-AI/SkyRL, skyrl/train/config/config.py and sft_config.py.
constexpr auto strategies = argument_words("fsdp=fsdp", "fsdp2=fsdp", "megatron=megatron");
constexpr auto kept = argument_words("true=yes", "false=no", "*=");
constexpr auto precisions = argument_words("true=bf16", "false=fp32");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"trainer.strategy", ConfigField::distributed_type, "", strategies},
    only_read({"trainer.bf16", ConfigField::precision, "", precisions}),
    {"trainer.policy.model.path", ConfigField::model},
    {"trainer.policy.model.lora.rank", ConfigField::adapter_rank},
    only_read({"trainer.policy.model.lora.dropout", ConfigField::adapter_dropout}),
    only_read({"trainer.policy.model.lora.target_modules", ConfigField::adapter_layers}),
    {"trainer.policy_mini_batch_size", ConfigField::global_batch},
    {"generator.n_samples_per_prompt", ConfigField::samples_each},
    {"trainer.micro_train_batch_size_per_gpu", ConfigField::micro_batch},
    {"trainer.max_prompt_length", ConfigField::added_tokens},
    {"generator.sampling_params.max_generate_length", ConfigField::sequence},
    {"trainer.gradient_checkpointing", PlanChoice::recompute, "", common::recomputed},
    {"trainer.policy.sequence_parallel_size", ConfigField::context, "", {}, "fsdp"},
    {"trainer.policy.sequence_parallel_size", PlanChoice::context_exchange, "ulysses", {}, "fsdp"},
    {"trainer.policy.fsdp_config.cpu_offload", PlanChoice::offload, "", common::weight_offloads, "fsdp"},
    only_read({"trainer.policy.fsdp_config.fsdp_size", PlanChoice::shard_group, "", {}, "fsdp"}),
    only_read({"trainer.policy.fsdp_config.reshard_after_forward", ConfigField::reshards, "", kept, "fsdp"}),
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

constexpr auto not_modeled =
    argument_names("trainer.remove_microbatch_padding", "trainer.use_sample_packing", "trainer.max_tokens_per_microbatch");

constexpr auto marks = argument_names("trainer.policy.model.path", "trainer.placement*", "trainer.policy_mini_batch_size");
constexpr auto programs = argument_names("skyrl.train.entrypoints*", "skyrl_train.entrypoints*");

constexpr auto harmless = argument_names(
    "data.*", "environment*", "trainer.placement.*", "trainer.algorithm.*", "trainer.critic*", "trainer.ref.*",
    "trainer.fully_async.*", "trainer.epochs", "trainer.update_epochs_per_batch", "trainer.train_batch_size",
    "trainer.micro_forward_batch_size_per_gpu", "trainer.eval_*", "trainer.ckpt_*", "trainer.max_ckpts*", "trainer.hf_save*",
    "trainer.resume_*", "trainer.logger", "trainer.project_name", "trainer.run_name", "trainer.tracker_*", "trainer.tags",
    "trainer.seed", "trainer.dump_*", "trainer.export_path", "trainer.log_path", "trainer.flash_attn",
    "trainer.disable_fast_tokenizer", "trainer.gradient_checkpointing_use_reentrant", "trainer.sequence_parallel_backend",
    "trainer.policy.record_memory", "trainer.policy.language_model_only", "trainer.policy.torch_profiler_config.*",
    "trainer.override_entrypoint", "trainer.policy.model.lora.alpha", "trainer.policy.model.lora.init_method",
    "trainer.policy.model.lora.lora_sync_path", "trainer.policy.model.lora.max_*", "trainer.policy.optimizer_config.lr",
    "trainer.policy.optimizer_config.adam_betas", "trainer.policy.optimizer_config.weight_decay",
    "trainer.policy.optimizer_config.max_grad_norm", "trainer.policy.optimizer_config.offload_after_step",
    "trainer.policy.optimizer_config.num_warmup_steps", "trainer.policy.optimizer_config.scheduler",
    "trainer.policy.fsdp_config.wrap_policy*", "trainer.policy.fsdp_config.mixed_precision*",
    "trainer.policy.megatron_config.ddp_config.*", "trainer.policy.megatron_config.torch_profiler_config.*",
    "generator.inference_engine*", "generator.sampling_params.temperature", "generator.sampling_params.top_*",
    "generator.sampling_params.min_p", "generator.sampling_params.logprobs", "generator.sampling_params.stop*",
    "generator.sampling_params.repetition_penalty", "generator.sampling_params.additional_kwargs*", "generator.eval_*",
    "generator.backend", "generator.run_engines_locally", "generator.weight_*", "generator.async_engine",
    "generator.batched", "generator.gpu_memory_utilization", "generator.max_*", "generator.num_*", "generator.enable_*",
    "generator.enforce_eager", "generator.vllm_*", "generator.engine_init_kwargs*", "generator.chat_template*",
    "generator.use_conversation_multi_turn", "generator.append_*", "generator.zero_reward*", "generator.apply_*",
    "generator.remote_*", "generator.http_*", "generator.step_wise*", "generator.model_*", "generator.override_*");

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
    .note = "the answer is one update of the policy; generation, rewards, the reference and the critic are not included",
    .loads_half = true};

namespace skyrl_sft_tables {

constexpr auto rows = std::to_array<ArgumentRow>({
    {"strategy", ConfigField::distributed_type, "", skyrl_tables::strategies},
    {"model.path", ConfigField::model},
    {"model.lora.rank", ConfigField::adapter_rank},
    only_read({"model.lora.dropout", ConfigField::adapter_dropout}),
    only_read({"model.lora.target_modules", ConfigField::adapter_layers}),
    {"batch_size", ConfigField::global_batch},
    {"micro_train_batch_size_per_gpu", ConfigField::micro_batch},
    {"max_length", ConfigField::sequence},
    {"gradient_checkpointing", PlanChoice::recompute, "", common::recomputed},
    {"fsdp_config.cpu_offload", PlanChoice::offload, "", common::weight_offloads, "fsdp"},
    only_read({"fsdp_config.fsdp_size", PlanChoice::shard_group, "", {}, "fsdp"}),
    only_read({"fsdp_config.reshard_after_forward", ConfigField::reshards, "", skyrl_tables::kept, "fsdp"}),
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
constexpr auto harmless = argument_names(
    "train_*", "messages_key", "tools_key", "system_key", "num_steps", "num_epochs", "seed", "eval_*", "optimizer_config.*",
    "logger", "project_name", "run_name", "ckpt_*", "hf_*", "resume_from", "megatron_config.ddp_config.*",
    "megatron_config.torch_profiler_config.*", "fsdp_config.wrap_policy*", "fsdp_config.mixed_precision*",
    "model.lora.alpha", "model.lora.init_method", "model.lora.lora_sync_path", "model.lora.max_*");

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
