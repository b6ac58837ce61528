#include <array>

#include "cli/tools/configuration_format.hpp"

namespace ddl {
namespace accelerate_tables {

// Sources of the names: huggingface/accelerate, src/accelerate/commands/config/cluster.py,
// utils/dataclasses.py and utils/launch.py.
constexpr auto flags = argument_words("true=yes", "false=no", "yes=yes", "no=no");
constexpr auto kinds = argument_words("NO=none", "MULTI_GPU=ddp", "FSDP=fsdp", "DEEPSPEED=deepspeed", "MEGATRON_LM=megatron",
                                      "MULTI_XPU>ddp", "MULTI_NPU>ddp", "MULTI_MLU>ddp", "MULTI_HPU>ddp", "MULTI_CPU>ddp",
                                      "TPU>ddp", "XLA>ddp", "MULTI_MUSA>ddp");
constexpr auto precisions = argument_words("bf16=bf16", "fp16=fp16", "fp8=fp8", "no=fp32");
constexpr auto shardings = argument_words("FULL_SHARD=3", "SHARD_GRAD_OP=2", "NO_SHARD=0", "HYBRID_SHARD=3",
                                          "HYBRID_SHARD_ZERO2=2", "1=3", "2=2", "3=0", "4=3", "5=2");
constexpr auto hybrids = argument_words("FULL_SHARD=no", "SHARD_GRAD_OP=no", "NO_SHARD=no", "HYBRID_SHARD=yes",
                                        "HYBRID_SHARD_ZERO2=yes", "1=no", "2=no", "3=no", "4=yes", "5=yes");
// With FSDP1, `fsdp_reshard_after_forward` is the sharding strategy [src/accelerate/utils/dataclasses.py,
// FullyShardedDataParallelPlugin].
constexpr auto reshards = argument_words("true=yes", "false=no", "yes=yes", "no=no", "FULL_SHARD=", "SHARD_GRAD_OP=",
                                         "NO_SHARD=", "HYBRID_SHARD=", "HYBRID_SHARD_ZERO2=", "1=", "2=", "3=", "4=", "5=");
constexpr auto resharding_strategies =
    argument_words("true=", "false=", "yes=", "no=", "FULL_SHARD=3", "SHARD_GRAD_OP=2", "NO_SHARD=0", "HYBRID_SHARD=3",
                   "HYBRID_SHARD_ZERO2=2", "1=3", "2=2", "3=0", "4=3", "5=2");
constexpr auto resharding_hybrids = argument_words("HYBRID_SHARD=yes", "HYBRID_SHARD_ZERO2=yes", "4=yes", "5=yes", "*=");
constexpr auto recomputed = argument_words("true=selective", "false=none");
constexpr auto devices = argument_words("cpu=optimizer", "none=none");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"distributed_type", ConfigField::distributed_type, "", kinds},
    {"num_processes", ConfigField::gpus},
    {"num_machines", ConfigField::nodes},
    {"mixed_precision", ConfigField::precision, "", precisions},
    {"fsdp_config.fsdp_sharding_strategy", PlanChoice::zero, "", shardings, "fsdp"},
    {"fsdp_config.fsdp_sharding_strategy", ConfigField::shards_nodes, "", hybrids, "fsdp"},
    {"fsdp_config.fsdp_reshard_after_forward", ConfigField::reshards, "", reshards, "fsdp"},
    only_read({"fsdp_config.fsdp_reshard_after_forward", PlanChoice::zero, "", resharding_strategies, "fsdp"}),
    only_read({"fsdp_config.fsdp_reshard_after_forward", ConfigField::shards_nodes, "", resharding_hybrids, "fsdp"}),
    {"fsdp_config.fsdp_activation_checkpointing", PlanChoice::recompute, "", common::recomputed, "fsdp"},
    {"fsdp_config.fsdp_offload_params", PlanChoice::offload, "", common::offloads, "fsdp"},
    {"deepspeed_config.offload_optimizer_device", PlanChoice::offload, "", devices, "deepspeed"},
    {"deepspeed_config.offload_param_device", ConfigField::offload_weights, "", common::on_host, "deepspeed"},
    {"parallelism_config.parallelism_config_dp_replicate_size", ConfigField::data_replicate},
    {"parallelism_config.parallelism_config_dp_shard_size", ConfigField::data_shard},
    {"parallelism_config.parallelism_config_tp_size", ConfigField::tensor},
    {"parallelism_config.parallelism_config_cp_size", ConfigField::context},
    {"deepspeed_config.zero_stage", PlanChoice::zero, "", {}, "deepspeed"},
    {"deepspeed_config.gradient_accumulation_steps", ConfigField::accumulation, "", {}, "deepspeed"},
    {"deepspeed_config.deepspeed_config_file", ConfigField::deepspeed_file, "", {}, "deepspeed"},
    {"megatron_lm_config.megatron_lm_tp_degree", ConfigField::tensor, "", {}, "megatron"},
    {"megatron_lm_config.megatron_lm_pp_degree", ConfigField::pipeline, "", {}, "megatron"},
    {"megatron_lm_config.megatron_lm_num_micro_batches", ConfigField::micro_batches, "", {}, "megatron"},
    {"megatron_lm_config.megatron_lm_sequence_parallelism", PlanChoice::sequence_parallel, "", flags, "megatron"},
    {"megatron_lm_config.megatron_lm_recompute_activations", PlanChoice::recompute, "", recomputed, "megatron"},
    {"megatron_lm_config.megatron_lm_use_distributed_optimizer", PlanChoice::zero, "", common::counts, "megatron"},
});

// The default of DeepSpeed's stage is that of DeepSpeedPlugin [src/accelerate/utils/dataclasses.py].
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::reshards, "yes"}, {PlanChoice::zero, "2", "deepspeed"}});

constexpr auto not_modeled = argument_names("fsdp_config.fsdp_forward_prefetch", "fsdp_config.fsdp_backward_prefetch",
                                            "dynamo_config.dynamo_backend", "ipex_config.ipex", "fp8_config.backend");

constexpr auto marks = argument_names("distributed_type", "compute_environment", "main_training_function");

constexpr auto harmless =
    argument_names("compute_environment", "debug", "machine_rank", "main_*", "rdzv_*", "same_network", "tpu_*", "use_cpu",
                   "gpu_ids", "downcast_bf16", "enable_cpu_affinity", "fsdp_config.*", "deepspeed_config.*",
                   "megatron_lm_config.*", "dynamo_*", "mpirun_config*", "fp8_config.*", "command_file", "commands", "tpu*",
                   "use_orbit", "parallelism_config.*", "ipex_config.*");

constexpr auto refused = std::to_array<RefusedArgument>({
    {"distributed_type", "training on such devices is not predicted", "set the plan by options: --gpus, --zero", false,
     "MULTI_CPU TPU XLA MULTI_XPU MULTI_NPU MULTI_MLU MULTI_MUSA MULTI_HPU"},
    {"compute_environment", "the number of GPUs follows from the instances", "set the plan by options: --gpus, --zero",
     false, "AMAZON_SAGEMAKER"},
    {"deepspeed_config.offload_optimizer_device", "the time of offloading to NVMe is not predicted",
     "use cpu instead: GPU memory is the same, and NVMe is slower", false, "nvme"},
    {"deepspeed_config.offload_param_device", "the time of offloading to NVMe is not predicted",
     "use cpu instead: GPU memory is the same, and NVMe is slower", false, "nvme"},
    {"use_cpu", "the training runs on processors", "set the plan by options", false, "true yes"},
});

}  // namespace accelerate_tables

const ConfigurationFormat accelerate_yaml{"accelerate",
                                          "fsdp",
                                          ConfigurationLanguage::yaml,
                                          accelerate_tables::rows,
                                          accelerate_tables::usual,
                                          accelerate_tables::not_modeled,
                                          {},
                                          accelerate_tables::marks,
                                          {},
                                          accelerate_tables::harmless,
                                          accelerate_tables::refused,
                                          ConfigurationLanguage::json};

}  // namespace ddl
