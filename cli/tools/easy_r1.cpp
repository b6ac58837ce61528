#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace easy_r1_tables {

// Sources of names and defaults: hiyouga/EasyR1, examples/config.yaml, verl/workers/actor/config.py and
// verl/trainer/config.py.
constexpr auto shards = argument_words("true=3", "false=2");
constexpr auto pure = argument_words("adamw_bf16=yes", "*=");
constexpr auto types = argument_words("*16=yes", "*32=no");
constexpr auto precisions =
    argument_words("bf16=bf16", "bfloat16=bf16", "fp16=fp16", "float16=fp16", "fp32=fp32", "float32=fp32");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"worker.actor.model.model_path", ConfigField::model},
    {"worker.actor.model.enable_gradient_checkpointing", PlanChoice::recompute, "", common::recomputed},
    {"worker.actor.model.lora.rank", ConfigField::adapter_rank},
    only_read({"worker.actor.model.lora.target_modules", ConfigField::adapter_layers}),
    {"worker.actor.model.freeze_vision_tower", ConfigField::frozen_vision, "", common::flags},
    {"worker.actor.global_batch_size", ConfigField::global_batch},
    {"worker.rollout.n", ConfigField::samples_each},
    {"worker.actor.micro_batch_size_per_device_for_update", ConfigField::micro_batch},
    {"worker.actor.ulysses_size", ConfigField::context},
    {"worker.actor.ulysses_size", PlanChoice::context_exchange, "ulysses"},
    {"worker.actor.fsdp.enable_full_shard", PlanChoice::zero, "", shards},
    {"worker.actor.fsdp.enable_cpu_offload", PlanChoice::offload, "", common::weight_offloads},
    only_read({"worker.actor.fsdp.fsdp_size", PlanChoice::shard_group}),
    only_read({"worker.actor.fsdp.torch_dtype", ConfigField::pure, "", types}),
    only_read({"worker.actor.fsdp.mp_param_dtype", ConfigField::precision, "", precisions}),
    weak({"worker.actor.optim.strategy", ConfigField::pure, "", pure}),
    {"data.max_prompt_length", ConfigField::added_tokens},
    {"data.max_response_length", ConfigField::sequence},
    {"trainer.n_gpus_per_node", ConfigField::gpus_per_node},
    {"trainer.nnodes", ConfigField::nodes},
    {"config", ConfigField::trainer_file},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::global_batch, "256"},
                                                  {ConfigField::micro_batch, "4"},
                                                  {ConfigField::added_tokens, "512"},
                                                  {ConfigField::sequence, "512"},
                                                  {ConfigField::nodes, "1"},
                                                  {ConfigField::gpus_per_node, "8"},
                                                  {PlanChoice::zero, "3"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto not_modeled = argument_names("worker.actor.padding_free", "worker.actor.dynamic_batching",
                                            "worker.actor.offload.*", "worker.actor.model.override_config*");

constexpr auto marks = argument_names("worker.actor*", "worker.rollout*");

constexpr auto harmless = argument_names(
    "data.*", "algorithm.*", "trainer.*", "ray_*", "worker.rollout.*", "worker.reward.*", "worker.ref.*", "worker.critic.*",
    "worker.hybrid_engine", "worker.actor.strategy", "worker.actor.micro_batch_size_per_device_for_experience",
    "worker.actor.max_grad_norm", "worker.actor.clip_ratio*", "worker.actor.loss_*", "worker.actor.ppo_epochs",
    "worker.actor.use_torch_compile", "worker.actor.use_kl_loss", "worker.actor.kl_*", "worker.actor.entropy_*",
    "worker.actor.model.tokenizer_path", "worker.actor.model.trust_remote_code", "worker.actor.model.lora.alpha",
    "worker.actor.optim.*", "worker.actor.fsdp.enable_rank0_init", "worker.actor.fsdp.use_orig_params",
    "worker.actor.fsdp.mp_reduce_dtype", "worker.actor.fsdp.mp_buffer_dtype");

}  // namespace easy_r1_tables

const ConfigurationFormat easy_r1_yaml{
    .name = "EasyR1",
    .software = "fsdp",
    .language = ConfigurationLanguage::yaml,
    .rows = easy_r1_tables::rows,
    .usual = easy_r1_tables::usual,
    .not_modeled = easy_r1_tables::not_modeled,
    .marks = easy_r1_tables::marks,
    .harmless = easy_r1_tables::harmless,
    .note = "the answer is one update of the actor; generation, rewards and the reference are not included",
    .loads_half = true};

}  // namespace ddl
