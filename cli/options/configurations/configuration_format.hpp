#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/enum_array.hpp"

namespace ddl {

/// What an argument says, whatever its tool calls it. Values are neutral words or whole numbers.
enum class ConfigField {
  // The model.
  model,      ///< a name of the zoo or of Hugging Face
  flavor,     ///< the size that goes with it: `8B`
  tokenizer,  ///< its name, which says the vocabulary
  layers,
  hidden,
  heads,
  kv_heads,
  head_size,
  feed_forward,
  vocabulary,
  vocabulary_multiple,
  positions,
  sequence,
  experts,
  active_experts,
  expert_feed_forward,
  gated,            ///< yes or no
  activation,       ///< gelu, relu2, silu
  norm,             ///< layer or rms
  position,         ///< learned, rope or none
  rotary_percent,   ///< 0 to 100
  bias,             ///< of linear layers: yes or no
  qkv_bias,         ///< yes or no
  query_key_norm,   ///< yes or no
  grouped_queries,  ///< yes or no: whether kv_heads counts
  tied,             ///< yes or no
  hidden_dropout,
  attention_dropout,
  attention,       ///< fused or unfused
  implementation,  ///< the same, where nothing says it of attention itself
  latent,          ///< yes: multi-head latent attention
  // Devices.
  gpus,
  nodes,
  gpus_per_node,  ///< `8`, or `a100:8`
  // Degrees.
  tensor,
  pipeline,
  context,
  expert,
  data_replicate,
  data_shard,  ///< -1: all that are left
  // The batch.
  global_batch,
  micro_batch,     ///< samples that a replica takes at a time
  accumulation,    ///< how often it does before an update
  pipeline_batch,  ///< samples of a micro-batch of a pipeline, which divides micro_batch further
  micro_batches,
  // Other choices.
  zero,
  sharding,  ///< the ZeRO stage of what shards instead of zero, where fsdp says that it does
  fsdp,      ///< yes
  shard_group,
  secondary_shards,  ///< of a second copy of the weights; 1: there is none
  shards_nodes,      ///< yes: shards go among the GPUs of a node
  reshards,          ///< of ZeRO-3: yes, or no: weights stay gathered
  recompute,
  recompute_method,     ///< block, or uniform
  recompute_blocks,     ///< of the method
  recompute_modules,    ///< of selective recomputation
  offload,              ///< none, optimizer or weights
  offload_weights,      ///< yes or no, where nothing else says it
  offload_activations,  ///< yes or no
  expert_tensor,        ///< the tensor degree of experts
  sequence_parallel,
  virtual_stages,
  layers_per_virtual_stage,
  schedule,
  context_exchange,
  precision,
  fp8,  ///< yes or no
  fp4,  ///< yes or no
  adapter_rank,
  optimizer,
  overlap,   ///< of gradients: yes or no
  compiled,  ///< yes or no
  distributed_type,
  // Other files that say the rest.
  deepspeed_file,
  torchtitan_file,
  accelerate_file,
};
inline constexpr std::size_t config_field_count = enum_count<ConfigField>();

/// A word of a tool, and what it means.
struct ArgumentWord {
  std::string_view word, meaning;
};

/// One argument of a tool. Tables of such rows are all that a format knows.
struct ArgumentRow {
  std::string_view key;
  ConfigField field;
  std::string_view alone{};               ///< the meaning of the argument without a value
  std::span<const ArgumentWord> words{};  ///< the words that it takes; none: a whole number or a name
  std::string_view only_with{};           ///< the distributed_type with which it counts; empty: all
};

/// What a tool does where its configuration does not say it.
struct UsualValue {
  ConfigField field;
  std::string_view value;
};

/// The languages of configurations.
enum class ConfigurationLanguage { script, json, yaml, toml };

/// A format of configurations. A new one is one file with its tables, and one line in `configuration_formats`.
struct ConfigurationFormat {
  std::string_view name;
  std::string_view software;  ///< that of the software table
  ConfigurationLanguage language;
  std::span<const ArgumentRow> rows;
  std::span<const UsualValue> usual;
  /// Arguments that change time or memory and that nothing here models.
  std::span<const std::string_view> not_modelled;
};

[[nodiscard]] std::span<const ConfigurationFormat* const> configuration_formats();
/// What Slurm, torchrun and other launchers say of devices.
[[nodiscard]] std::span<const ArgumentRow> launcher_rows();

}  // namespace ddl
