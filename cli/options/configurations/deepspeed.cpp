#include <array>

#include "cli/options/configurations/formats.hpp"

namespace ddl {
namespace deepspeed_tables {

// Names and defaults: DeepSpeed, docs/_pages/config-json.md, deepspeed/runtime/config.py and runtime/zero/config.py.
constexpr auto flags = std::to_array<ArgumentWord>({{"true", "yes"}, {"false", "no"}});
constexpr auto half = std::to_array<ArgumentWord>({{"true", "fp16"}, {"false", ""}});
constexpr auto brain = std::to_array<ArgumentWord>({{"true", "bf16"}, {"false", ""}});
constexpr auto devices = std::to_array<ArgumentWord>({{"cpu", "optimizer"}, {"none", "none"}, {"nvme", ""}});
constexpr auto older_offload = std::to_array<ArgumentWord>({{"true", "optimizer"}, {"false", "none"}});
constexpr auto weight_devices = std::to_array<ArgumentWord>({{"cpu", "yes"}, {"none", "no"}, {"nvme", ""}});
constexpr auto optimizers = std::to_array<ArgumentWord>({{"Adam", "adam"},
                                                         {"AdamW", "adamw"},
                                                         {"FusedAdam", "adam"},
                                                         {"Lamb", "lamb"},
                                                         {"SGD", "momentum"},
                                                         {"OneBitAdam", "adam"},
                                                         {"ZeroOneAdam", "adam"},
                                                         {"OneBitLamb", "lamb"}});

constexpr auto rows = std::to_array<ArgumentRow>({
    {"train_batch_size", ConfigField::global_batch},
    {"train_micro_batch_size_per_gpu", ConfigField::micro_batch},
    {"gradient_accumulation_steps", ConfigField::accumulation},
    {"zero_optimization.stage", ConfigField::zero},
    {"zero_optimization.mics_shard_size", ConfigField::shard_group},
    {"zero_optimization.zero_hpz_partition_size", ConfigField::secondary_shards},
    {"zero_optimization.overlap_comm", ConfigField::overlap, "", flags},
    {"zero_optimization.offload_optimizer.device", ConfigField::offload, "", devices},
    {"zero_optimization.cpu_offload", ConfigField::offload, "", older_offload},
    {"zero_optimization.offload_param.device", ConfigField::offload_weights, "", weight_devices},
    {"activation_checkpointing.cpu_checkpointing", ConfigField::offload_activations, "", flags},
    {"fp16.enabled", ConfigField::precision, "", half},
    {"bf16.enabled", ConfigField::precision, "", brain},
    {"bfloat16.enabled", ConfigField::precision, "", brain},
    {"optimizer.type", ConfigField::optimizer, "", optimizers},
    {"tensor_parallel.autotp_size", ConfigField::tensor},
    {"sequence_parallel_size", ConfigField::context},
});

constexpr auto usual = std::to_array<UsualValue>({{ConfigField::zero, "0"}, {ConfigField::context_exchange, "ulysses"}});

constexpr auto not_modelled = std::to_array<std::string_view>(
    {"zero_optimization.offload_optimizer.nvme_path", "zero_optimization.offload_param.nvme_path",
     "zero_optimization.zero_quantized_weights", "zero_optimization.zero_quantized_gradients",
     "activation_checkpointing.partition_activations", "communication_data_type", "compression_training",
     "sparse_attention.mode", "amp.enabled", "data_types.grad_accum_dtype", "moe.enabled"});

}  // namespace deepspeed_tables

const ConfigurationFormat deepspeed_json{"DeepSpeed",
                                         "deepspeed",
                                         ConfigurationLanguage::json,
                                         deepspeed_tables::rows,
                                         deepspeed_tables::usual,
                                         deepspeed_tables::not_modelled};

}  // namespace ddl
