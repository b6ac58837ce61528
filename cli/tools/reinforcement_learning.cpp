#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace verl_tables {

// Sources of names and defaults: volcengine/verl, verl/trainer/config/ppo_trainer.yaml and the files that it includes.
constexpr auto flags = argument_words("true=yes", "false=no");
constexpr auto recomputed = argument_words("true=full", "false=none");
constexpr auto weights = argument_words("true=weights", "false=");
constexpr auto granularities = argument_words("full=full", "selective=selective", "null=");
constexpr auto strategies = argument_words("fsdp=fsdp", "fsdp2=fsdp", "megatron=megatron");
constexpr auto engines = argument_words("dp=fsdp", "megatron=megatron", "veomni=fsdp", "torchtitan=fsdp");
// Values that only configurations of the trainer with Megatron-LM have: its name, or any degree.
constexpr auto trainers = argument_words("*megatron*=megatron", "*=");
constexpr auto kept = argument_words("true=yes", "false=no", "*=");
constexpr auto any_degree = argument_words("*=megatron");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"actor_rollout_ref.actor.strategy", ConfigField::distributed_type, "", strategies},
    weak({"model_engine", ConfigField::distributed_type, "", engines}),
    weak({"--config-name|defaults", ConfigField::distributed_type, "", trainers}),
    weak({"actor_rollout_ref.actor.megatron.tensor_model_parallel_size", ConfigField::distributed_type, "", any_degree}),
    {"actor_rollout_ref.model.path", ConfigField::model},
    {"actor_rollout_ref.model.lora_rank|actor_rollout_ref.model.lora.rank", ConfigField::adapter_rank},
    only_read({"actor_rollout_ref.model.lora.dropout", ConfigField::adapter_dropout}),
    only_read({"actor_rollout_ref.model.target_modules", ConfigField::adapter_layers}),
    weak({"actor_rollout_ref.model.enable_gradient_checkpointing", PlanChoice::recompute, "", recomputed}),
    only_read({"actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity", PlanChoice::recompute,
               "", granularities, "megatron"}),
    {"actor_rollout_ref.actor.ppo_mini_batch_size", ConfigField::global_batch},
    {"actor_rollout_ref.rollout.n", ConfigField::samples_each},
    {"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", ConfigField::micro_batch},
    {"data.max_prompt_length", ConfigField::added_tokens},
    {"data.max_response_length", ConfigField::sequence},
    {"actor_rollout_ref.actor.ulysses_sequence_parallel_size|actor_rollout_ref.actor.megatron.context_parallel_size",
     ConfigField::context},
    {"actor_rollout_ref.actor.ulysses_sequence_parallel_size", PlanChoice::context_exchange, "ulysses"},
    // FSDP2 keeps weights and the optimizer's state on the host during an update. `param_offload` and `optimizer_offload`
    // move them to the host between updates [verl/workers/fsdp_workers.py].
    {"actor_rollout_ref.actor.fsdp_config.offload_policy", PlanChoice::offload, "", weights},
    only_read({"actor_rollout_ref.actor.fsdp_config.fsdp_size", PlanChoice::shard_group, "", {}, "fsdp"}),
    only_read({"actor_rollout_ref.actor.fsdp_config.reshard_after_forward", ConfigField::reshards, "", kept, "fsdp"}),
    {"actor_rollout_ref.actor.megatron.tensor_model_parallel_size", ConfigField::tensor},
    {"actor_rollout_ref.actor.megatron.pipeline_model_parallel_size", ConfigField::pipeline},
    {"actor_rollout_ref.actor.megatron.expert_model_parallel_size", ConfigField::expert},
    {"actor_rollout_ref.actor.megatron.expert_tensor_parallel_size", ConfigField::expert_tensor},
    only_read({"actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size", PlanChoice::virtual_stages}),
    only_read({"actor_rollout_ref.actor.megatron.sequence_parallel", PlanChoice::sequence_parallel, "", flags, "megatron"}),
    {"trainer.n_gpus_per_node", ConfigField::gpus_per_node},
    {"trainer.nnodes", ConfigField::nodes},
});
constexpr auto rows = one_name_each<arguments>();

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::distributed_type, "fsdp"},
                                                  {ConfigField::added_tokens, "512"},
                                                  {ConfigField::sequence, "512"},
                                                  {ConfigField::nodes, "1"},
                                                  {ConfigField::gpus_per_node, "8"},
                                                  {PlanChoice::zero, "1", "megatron"},
                                                  {PlanChoice::sequence_parallel, "yes", "megatron"},
                                                  {PlanChoice::recompute, "full", "fsdp"}});

constexpr auto not_modeled = argument_names(
    "actor_rollout_ref.model.use_remove_padding", "actor_rollout_ref.actor.use_dynamic_bsz",
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu", "actor_rollout_ref.model.use_fused_kernels",
    "actor_rollout_ref.actor.fsdp_config.param_offload", "actor_rollout_ref.actor.fsdp_config.optimizer_offload",
    "actor_rollout_ref.actor.megatron.param_offload", "actor_rollout_ref.actor.megatron.optimizer_offload",
    "actor_rollout_ref.actor.megatron.grad_offload",
    "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_modules",
    "actor_rollout_ref.model.enable_activation_offload", "actor_rollout_ref.model.use_liger",
    "actor_rollout_ref.model.override_config*", "actor_rollout_ref.actor.entropy_checkpointing",
    "actor_rollout_ref.actor.entropy_from_logits_with_chunking", "actor_rollout_ref.actor.fsdp_config.forward_prefetch",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision*", "actor_rollout_ref.actor.optim.override_optimizer_config*");

constexpr auto marks = argument_names("actor_rollout_ref.*");
constexpr auto programs = argument_names("verl.trainer.main_ppo");

constexpr auto harmless =
    argument_names("algorithm.*", "data.*", "actor_rollout_ref.*", "trainer.*", "critic.*", "reward_*", "ray_*",
                   "custom_reward_function.*", "global_profiler.*", "hydra*", "env*", "rollout*");

}  // namespace verl_tables

const ConfigurationFormat verl_overrides{
    "verl",
    "fsdp",
    ConfigurationLanguage::script,
    verl_tables::rows,
    verl_tables::usual,
    verl_tables::not_modeled,
    {},
    verl_tables::marks,
    verl_tables::programs,
    verl_tables::harmless,
    {},
    ConfigurationLanguage::yaml,
    "the answer is one update of the actor; generation, rewards, the reference and the critic are not included"};

namespace verl_sft_tables {

// Sources of names and defaults: volcengine/verl, verl/trainer/config/sft_trainer.yaml and sft_trainer_engine.yaml.
constexpr auto recomputed = argument_words("true=full", "false=none");
constexpr auto weights = argument_words("true=weights", "false=");
constexpr auto strategies = argument_words("fsdp=fsdp", "fsdp2=fsdp");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"model.strategy|engine.strategy", ConfigField::distributed_type, "", strategies},
    {"model.partial_pretrain|model.path", ConfigField::model},
    {"model.lora_rank", ConfigField::adapter_rank},
    only_read({"model.target_modules", ConfigField::adapter_layers}),
    {"model.enable_gradient_checkpointing", PlanChoice::recompute, "", recomputed},
    {"model.fsdp_config.offload_params", PlanChoice::offload, "", weights},
    {"data.train_batch_size", ConfigField::global_batch},
    {"data.micro_batch_size_per_gpu", ConfigField::micro_batch},
    {"data.max_length", ConfigField::sequence},
    {"ulysses_sequence_parallel_size|engine.ulysses_sequence_parallel_size", ConfigField::context},
    {"trainer.n_gpus_per_node", ConfigField::gpus_per_node},
    {"trainer.nnodes", ConfigField::nodes},
});
constexpr auto rows = one_name_each<arguments>();

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adamw"},
                                                  {ConfigField::distributed_type, "fsdp"},
                                                  {ConfigField::global_batch, "256"},
                                                  {ConfigField::micro_batch, "4"},
                                                  {ConfigField::sequence, "1024"},
                                                  {PlanChoice::context_exchange, "ulysses"},
                                                  {PlanChoice::recompute, "full"}});

constexpr auto not_modeled = argument_names("use_remove_padding", "model.use_liger", "data.use_dynamic_bsz",
                                            "data.max_token_len_per_gpu", "model.use_remove_padding");

constexpr auto marks = argument_names("model.partial_pretrain");
constexpr auto programs = argument_names("verl.trainer.fsdp_sft_trainer", "verl.trainer.sft_trainer*",
                                         "verl/trainer/fsdp_sft_trainer.py", "verl/trainer/sft_trainer.py");

constexpr auto harmless =
    argument_names("data.*", "model.*", "optim.*", "trainer.*", "engine.*", "checkpoint.*", "profiler.*", "hydra*", "ray_*");

constexpr auto as_options = "set model and plan by options: recommend MODEL --gpus N";
constexpr auto refused = std::to_array<RefusedArgument>({
    {"engine", "of verl's supervised trainers, only the FSDP trainer is supported", as_options, false,
     "megatron veomni torchtitan"},
});

}  // namespace verl_sft_tables

const ConfigurationFormat verl_sft_overrides{.name = "verl (supervised fine-tuning)",
                                             .software = "fsdp",
                                             .language = ConfigurationLanguage::script,
                                             .rows = verl_sft_tables::rows,
                                             .usual = verl_sft_tables::usual,
                                             .not_modeled = verl_sft_tables::not_modeled,
                                             .marks = verl_sft_tables::marks,
                                             .programs = verl_sft_tables::programs,
                                             .harmless = verl_sft_tables::harmless,
                                             .refused = verl_sft_tables::refused,
                                             .also = ConfigurationLanguage::yaml};

namespace slime_tables {

// Sources of names and defaults: THUDM/slime, slime/utils/arguments.py and slime/backends/fsdp_utils/arguments.py. Further
// arguments of the actor are those of Megatron-LM.
constexpr auto backends = argument_words("fsdp=3", "megatron=");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"--actor-num-nodes", ConfigField::nodes},
    {"--actor-num-gpus-per-node", ConfigField::gpus_per_node},
    {"--rollout-max-response-len", ConfigField::sequence},
    {"--rollout-max-prompt-len", ConfigField::added_tokens},
    only_read({"--train-backend", PlanChoice::zero, "", backends}),
    only_read({"--fsdp-cpu-offload", PlanChoice::offload, "weights"}),
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::norm, "layer"},
                                                  {ConfigField::position, "rope"},
                                                  {ConfigField::bias, "yes"},
                                                  {ConfigField::tied, "yes"},
                                                  {ConfigField::nodes, "1"},
                                                  {ConfigField::gpus_per_node, "8"},
                                                  {ConfigField::micro_batch, "1"},
                                                  {ConfigField::vocabulary_multiple, "128"},
                                                  {ConfigField::precision, "bf16"},
                                                  {ConfigField::optimizer, "adam"},
                                                  {PlanChoice::zero, "1"}});

constexpr auto not_modeled = argument_names("--use-dynamic-batch-size", "--max-tokens-per-gpu", "--colocate");

constexpr auto marks =
    argument_names("--rollout-num-gpus", "--rollout-num-gpus-per-engine", "--num-rollout", "--actor-num-gpus-per-node");
constexpr auto programs = argument_names("slime.*");

constexpr auto harmless = argument_names(
    "--hf-checkpoint", "--ref-load", "--load*", "--save*", "--prompt-data", "--input-key", "--label-key",
    "--apply-chat-template", "--rollout-*", "--rm-*", "--num-rollout", "--n-samples-per-prompt", "--balance-data",
    "--eval-*", "--n-samples-per-eval-prompt", "--advantage-*", "--use-kl-loss", "--kl-*", "--entropy-*", "--eps-*", "--lr*",
    "--weight-decay", "--adam-*", "--use-wandb", "--wandb*", "--sglang-*", "--accumulate-allreduce-grads-in-fp32",
    "--attention-softmax-in-fp32", "--no-check-*", "--norm-epsilon", "--rotary-base", "--vocab-size", "--moe-router-*",
    "--moe-grouped-gemm", "--moe-permute-fusion", "--moe-aux-loss-coeff", "--moe-token-*", "--overlap-*", "--custom-*",
    "--over-sampling-*", "--dynamic-sampling-*", "--partial-rollout", "--buffer-*", "--rotary-*", "--tokenizer-*", "--seed",
    "--debug-*", "--address", "--runtime-env-json", "--working-dir", "--use-tis", "--tis-*", "--make-vocab-*",
    "--train-memory-margin-bytes", "--router-*", "--clip-grad", "--metadata-key", "--loss-mask-type", "--fsdp-cpu-backend");

constexpr auto other_model = "name the trained model with --model; the other arguments of the file are used";
constexpr auto refused = std::to_array<RefusedArgument>({
    // As for Megatron-LM (megatron.cpp).
    {.key = "--mtp-num-layers",
     .reason = "no supported family of models predicts several tokens ahead",
     .hint = other_model,
     .is_of_model = true,
     .without = "--multi-latent-attention"},
    {"--attention-output-gate", "the blocks have gated or linear attention", other_model, true},
    {"--use-gated-attention", "the blocks have gated or linear attention", other_model, true},
});

}  // namespace slime_tables

const ConfigurationFormat slime_arguments{
    "slime",
    "megatron",
    ConfigurationLanguage::script,
    slime_tables::rows,
    slime_tables::usual,
    slime_tables::not_modeled,
    {},
    slime_tables::marks,
    slime_tables::programs,
    slime_tables::harmless,
    slime_tables::refused,
    {},
    "the answer is one update of the actor on sequences of full length; generation and rewards are not included"};

namespace nemo_rl_tables {

// Sources of names and defaults: NVIDIA-NeMo/RL, examples/configs/sft.yaml and grpo_math_1B.yaml,
// nemo_rl/models/policy/__init__.py.
constexpr auto flags = argument_words("true=yes", "false=no");
constexpr auto recomputed = argument_words("true=full", "false=none");
constexpr auto kinds = argument_words("true=megatron", "false=fsdp");
constexpr auto optimizers = argument_words("torch.optim.AdamW=adamw", "torch.optim.Adam=adam",
                                           "transformer_engine.pytorch.optimizers.fused_adam.FusedAdam>adamw",
                                           "transformer_engine.pytorch.optimizers.FusedAdam>adamw");
constexpr auto adapters = argument_words("true=lora", "false=none");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"policy.megatron_cfg.enabled", ConfigField::distributed_type, "", kinds},
    {"policy.model_name", ConfigField::model},
    {"policy.train_global_batch_size", ConfigField::global_batch},
    {"policy.train_micro_batch_size", ConfigField::micro_batch},
    {"policy.max_total_sequence_length", ConfigField::sequence},
    {"policy.precision", ConfigField::precision, "", common::torch_types},
    {"policy.dtensor_cfg.tensor_parallel_size", ConfigField::tensor, "", {}, "fsdp"},
    {"policy.dtensor_cfg.context_parallel_size", ConfigField::context, "", {}, "fsdp"},
    {"policy.dtensor_cfg.sequence_parallel", PlanChoice::sequence_parallel, "", flags, "fsdp"},
    {"policy.dtensor_cfg.activation_checkpointing", PlanChoice::recompute, "", recomputed, "fsdp"},
    {"policy.dtensor_cfg.cpu_offload", PlanChoice::offload, "", common::offloads, "fsdp"},
    {"policy.dtensor_cfg.lora_cfg.enabled", ConfigField::adapter, "", adapters, "fsdp"},
    {"policy.dtensor_cfg.lora_cfg.dim", ConfigField::adapter_rank, "", {}, "fsdp"},
    only_read({"policy.dtensor_cfg.lora_cfg.dropout", ConfigField::adapter_dropout, "", {}, "fsdp"}),
    {"policy.megatron_cfg.peft.enabled", ConfigField::adapter, "", adapters, "megatron"},
    {"policy.megatron_cfg.peft.dim", ConfigField::adapter_rank, "", {}, "megatron"},
    only_read({"policy.megatron_cfg.peft.dropout", ConfigField::adapter_dropout, "", {}, "megatron"}),
    only_read({"policy.megatron_cfg.peft.target_modules", ConfigField::adapter_layers, "", {}, "megatron"}),
    {"policy.megatron_cfg.tensor_model_parallel_size", ConfigField::tensor, "", {}, "megatron"},
    {"policy.megatron_cfg.pipeline_model_parallel_size", ConfigField::pipeline, "", {}, "megatron"},
    {"policy.megatron_cfg.context_parallel_size", ConfigField::context, "", {}, "megatron"},
    {"policy.megatron_cfg.expert_model_parallel_size", ConfigField::expert, "", {}, "megatron"},
    {"policy.megatron_cfg.expert_tensor_parallel_size", ConfigField::expert_tensor, "", {}, "megatron"},
    {"policy.megatron_cfg.sequence_parallel", PlanChoice::sequence_parallel, "", flags, "megatron"},
    {"policy.megatron_cfg.activation_checkpointing", PlanChoice::recompute, "", recomputed, "megatron"},
    {"policy.megatron_cfg.optimizer.use_distributed_optimizer", PlanChoice::zero, "", common::counts, "megatron"},
    {"policy.optimizer.name", ConfigField::optimizer, "", optimizers},
    {"defaults", ConfigField::trainer_file},
    {"cluster.gpus_per_node", ConfigField::gpus_per_node},
    {"cluster.num_nodes", ConfigField::nodes},
});

constexpr auto usual = std::to_array<UsualValue>(
    {{ConfigField::precision, "bf16"}, {ConfigField::optimizer, "adamw"}, {ConfigField::distributed_type, "fsdp"}});

constexpr auto not_modeled =
    argument_names("policy.sequence_packing.enabled", "policy.dynamic_batching.enabled", "policy.hf_config_overrides*",
                   "policy.megatron_cfg.optimizer.optimizer_cpu_offload", "policy.megatron_cfg.fp8_cfg.enabled",
                   "policy.megatron_cfg.num_layers_in_*");

constexpr auto marks = argument_names("policy.train_global_batch_size", "policy.train_micro_batch_size",
                                      "policy.dtensor_cfg*", "policy.megatron_cfg*");

constexpr auto harmless =
    argument_names("sft.*", "grpo.*", "dpo.*", "distillation.*", "loss_fn.*", "checkpointing.*", "policy.*", "data*",
                   "env.*", "logger.*", "cluster.*", "defaults*", "rm.*", "teacher.*", "async*");

constexpr auto refused = std::to_array<RefusedArgument>({
    {"dpo.*", "a second model runs without gradients", "name the trained model by --model, to predict its update", true},
    {"teacher.*", "a second model runs without gradients", "name the trained model by --model, to predict its update", true},
});

}  // namespace nemo_rl_tables

const ConfigurationFormat nemo_rl_yaml{
    "NeMo-RL",
    "fsdp",
    ConfigurationLanguage::yaml,
    nemo_rl_tables::rows,
    nemo_rl_tables::usual,
    nemo_rl_tables::not_modeled,
    {},
    nemo_rl_tables::marks,
    {},
    nemo_rl_tables::harmless,
    nemo_rl_tables::refused,
    {},
    "the answer is one update of the policy; generation, rewards and the reference are not included"};

}  // namespace ddl
