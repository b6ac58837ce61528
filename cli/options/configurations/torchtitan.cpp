#include <array>

#include "cli/options/configurations/formats.hpp"

namespace ddl {
namespace torchtitan_tables {

// Names and defaults: pytorch/torchtitan, torchtitan/config/job_config.py, and its older config_manager.py.
constexpr auto checkpoints = std::to_array<ArgumentWord>({{"none", "none"}, {"selective", "selective"}, {"full", "full"}});
constexpr auto flags = std::to_array<ArgumentWord>({{"true", "yes"}, {"false", "no"}});
constexpr auto offloads = std::to_array<ArgumentWord>({{"true", "weights"}, {"false", "none"}});
constexpr auto precisions = std::to_array<ArgumentWord>({{"bfloat16", "bf16"}, {"float32", "fp32"}});
constexpr auto optimizers = std::to_array<ArgumentWord>({{"AdamW", "adamw"}, {"Adam", "adam"}});
constexpr auto reshards = std::to_array<ArgumentWord>({{"default", "default"}, {"always", "yes"}, {"never", "no"}});
constexpr auto rotations = std::to_array<ArgumentWord>({{"allgather", "ring"}, {"alltoall", "ring"}});
constexpr auto schedules = std::to_array<ArgumentWord>({{"1F1B", "1f1b"},
                                                        {"GPipe", "gpipe"},
                                                        {"Interleaved1F1B", "1f1b"},
                                                        {"InterleavedZeroBubble", "zb-h1"},
                                                        {"ZBVZeroBubble", "zb-v"},
                                                        {"DualPipeV", "dualpipe"}});

constexpr auto rows = std::to_array<ArgumentRow>({
    {"model.name", ConfigField::model},
    {"model.flavor", ConfigField::flavor},
    {"training.local_batch_size", ConfigField::micro_batch},
    {"training.batch_size", ConfigField::micro_batch},
    {"training.global_batch_size", ConfigField::global_batch},
    {"training.seq_len", ConfigField::sequence},
    {"training.mixed_precision_param", ConfigField::precision, "", precisions},
    {"training.data_parallel_replicate_degree", ConfigField::data_replicate},
    {"training.data_parallel_shard_degree", ConfigField::data_shard},
    {"training.tensor_parallel_degree", ConfigField::tensor},
    {"training.enable_cpu_offload", ConfigField::offload, "weights", offloads},
    {"parallelism.expert_tensor_parallel_degree", ConfigField::expert_tensor},
    {"training.compile", ConfigField::compiled, "yes", flags},
    {"compile.enable", ConfigField::compiled, "yes", flags},
    {"parallelism.data_parallel_replicate_degree", ConfigField::data_replicate},
    {"parallelism.data_parallel_shard_degree", ConfigField::data_shard},
    {"parallelism.tensor_parallel_degree", ConfigField::tensor},
    {"parallelism.pipeline_parallel_degree", ConfigField::pipeline},
    {"parallelism.context_parallel_degree", ConfigField::context},
    {"parallelism.expert_parallel_degree", ConfigField::expert},
    {"parallelism.fsdp_reshard_after_forward", ConfigField::reshards, "", reshards},
    {"parallelism.pipeline_parallel_schedule", ConfigField::schedule, "", schedules},
    {"parallelism.pipeline_parallel_layers_per_stage", ConfigField::layers_per_virtual_stage},
    {"parallelism.pipeline_parallel_microbatch_size", ConfigField::pipeline_batch},
    {"parallelism.context_parallel_rotate_method", ConfigField::context_exchange, "", rotations},
    {"experimental.pipeline_parallel_degree", ConfigField::pipeline},
    {"experimental.context_parallel_degree", ConfigField::context},
    {"experimental.pipeline_parallel_schedule", ConfigField::schedule, "", schedules},
    {"activation_checkpoint.mode", ConfigField::recompute, "", checkpoints},
    {"optimizer.name", ConfigField::optimizer, "", optimizers},
    {"float8.enable_float8_linear", ConfigField::fp8, "yes", flags},
});

// Tensor parallelism of torchtitan is sequence parallel; FSDP is ZeRO-3.
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {ConfigField::zero, "3"},
                                                  {ConfigField::sequence_parallel, "yes"},
                                                  {ConfigField::data_shard, "-1"},
                                                  {ConfigField::pipeline_batch, "1"},
                                                  {ConfigField::compiled, "no"},
                                                  {ConfigField::recompute, "selective"},
                                                  {ConfigField::micro_batch, "8"},
                                                  {ConfigField::sequence, "2048"},
                                                  {ConfigField::optimizer, "adamw"}});

constexpr auto not_modelled = std::to_array<std::string_view>(
    {"parallelism.enable_async_tensor_parallel", "parallelism.enable_compiled_autograd", "parallelism.disable_loss_parallel",
     "parallelism.pipeline_parallel_schedule_csv", "parallelism.pipeline_parallel_split_points",
     "activation_checkpoint.selective_ac_option", "optimizer.early_step_in_backward", "float8.enable_fsdp_float8_all_gather",
     "quantize.linear.float8.enable_fsdp_float8_all_gather"});

}  // namespace torchtitan_tables

const ConfigurationFormat torchtitan_toml{"torchtitan",
                                          "torchtitan",
                                          ConfigurationLanguage::toml,
                                          torchtitan_tables::rows,
                                          torchtitan_tables::usual,
                                          torchtitan_tables::not_modelled};

}  // namespace ddl
