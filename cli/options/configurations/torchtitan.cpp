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
    {"model.name", Said::model},
    {"model.flavor", Said::flavor},
    {"training.local_batch_size", Said::micro_batch},
    {"training.batch_size", Said::micro_batch},
    {"training.global_batch_size", Said::global_batch},
    {"training.seq_len", Said::sequence},
    {"training.mixed_precision_param", Said::precision, "", precisions},
    {"training.data_parallel_replicate_degree", Said::data_replicate},
    {"training.data_parallel_shard_degree", Said::data_shard},
    {"training.tensor_parallel_degree", Said::tensor},
    {"training.enable_cpu_offload", Said::offload, "weights", offloads},
    {"parallelism.expert_tensor_parallel_degree", Said::expert_tensor},
    {"training.compile", Said::compiled, "yes", flags},
    {"compile.enable", Said::compiled, "yes", flags},
    {"parallelism.data_parallel_replicate_degree", Said::data_replicate},
    {"parallelism.data_parallel_shard_degree", Said::data_shard},
    {"parallelism.tensor_parallel_degree", Said::tensor},
    {"parallelism.pipeline_parallel_degree", Said::pipeline},
    {"parallelism.context_parallel_degree", Said::context},
    {"parallelism.expert_parallel_degree", Said::expert},
    {"parallelism.fsdp_reshard_after_forward", Said::reshards, "", reshards},
    {"parallelism.pipeline_parallel_schedule", Said::schedule, "", schedules},
    {"parallelism.pipeline_parallel_layers_per_stage", Said::layers_per_virtual_stage},
    {"parallelism.pipeline_parallel_microbatch_size", Said::pipeline_batch},
    {"parallelism.context_parallel_rotate_method", Said::context_exchange, "", rotations},
    {"experimental.pipeline_parallel_degree", Said::pipeline},
    {"experimental.context_parallel_degree", Said::context},
    {"experimental.pipeline_parallel_schedule", Said::schedule, "", schedules},
    {"activation_checkpoint.mode", Said::recompute, "", checkpoints},
    {"optimizer.name", Said::optimizer, "", optimizers},
    {"float8.enable_float8_linear", Said::fp8, "yes", flags},
});

// Tensor parallelism of torchtitan is sequence parallel; FSDP is ZeRO-3.
constexpr auto usual = std::to_array<UsualValue>({{Said::precision, "bf16"},
                                                  {Said::zero, "3"},
                                                  {Said::sequence_parallel, "yes"},
                                                  {Said::data_shard, "-1"},
                                                  {Said::pipeline_batch, "1"},
                                                  {Said::compiled, "no"},
                                                  {Said::recompute, "selective"},
                                                  {Said::micro_batch, "8"},
                                                  {Said::sequence, "2048"},
                                                  {Said::optimizer, "adamw"}});

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
