#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/enum_array.hpp"
#include "estimator/choices/plan_choice.hpp"

namespace ddl {

/// The meaning of an argument, independent of its name in a tool, if it is not a choice of plans. Values are whole numbers,
/// or words that no tool defines.
enum class ConfigField {
  // The model.
  model,      ///< a name of the zoo or of Hugging Face
  flavor,     ///< the size that goes with it: `8B`
  tokenizer,  ///< its name, which determines the vocabulary
  layers,
  hidden,
  heads,
  kv_heads,
  head_size,
  feed_forward,
  feed_forward_ratio,   ///< the same over hidden
  feed_forward_halves,  ///< yes: both count gate and value of a gated perceptron together
  vocabulary,
  vocabulary_multiple,
  positions,
  sequence,
  added_tokens,  ///< in addition to it: a prompt
  experts,
  active_experts,
  expert_feed_forward,
  gated,            ///< yes or no
  activation,       ///< gelu, relu2, swiglu
  norm,             ///< layer or rms
  position,         ///< learned, rope or none
  rotary_percent,   ///< 0 to 1
  bias,             ///< of linear layers: yes or no
  qkv_bias,         ///< yes or no
  query_key_norm,   ///< yes or no
  grouped_queries,  ///< yes or no: whether kv_heads counts
  tied,             ///< yes or no
  hidden_dropout,
  attention_dropout,
  attention,       ///< fused or unfused
  implementation,  ///< the same, if `attention` is not given
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
  replicas,  ///< of the model
  data_replicate,
  data_shard,  ///< -1: all remaining ranks
  // The batch.
  global_batch,
  samples_each,    ///< sequences of each of its samples
  micro_batch,     ///< samples that a replica takes at a time
  accumulation,    ///< how often it does before an update
  pipeline_batch,  ///< samples of a micro-batch of a pipeline, which divides micro_batch further
  micro_batches,
  // Choices of plans in the terms of a tool.
  sharding,          ///< the ZeRO stage, which replaces `zero` if `fsdp` is yes
  fsdp,              ///< yes
  shards_nodes,      ///< yes: weights are sharded among the GPUs of a node
  reshards,          ///< of ZeRO-3: yes, or no: weights stay gathered after forward
  recompute_method,  ///< block, or uniform
  recompute_layers,  ///< of the method
  recompute_share,   ///< of the blocks: 0 to 1
  offload_weights,   ///< yes or no, where nothing else says it
  expert_tensor,     ///< the tensor degree of experts
  interleaved,       ///< of a schedule: yes or no
  layers_per_virtual_stage,
  precision,
  fp8,      ///< yes or no
  fp4,      ///< yes or no
  adapter,  ///< lora, or none
  adapter_rank,
  optimizer,
  momentum,  ///< of SGD
  overlap,   ///< of gradients: yes or no
  compiled,  ///< yes or no
  distributed_type,
  // Other files that contain the rest.
  deepspeed_file,
  trainer_file,
  accelerate_file,
};
inline constexpr std::size_t config_field_count = enum_count<ConfigField>();

/// A field of a configuration: a ConfigField, or a choice of plans.
class RunField {
 public:
  static constexpr std::size_t count = config_field_count + plan_choice_count;

  // NOLINTNEXTLINE(google-explicit-constructor): tables and calls name either enumerator
  constexpr RunField(ConfigField field) : number_(static_cast<std::size_t>(field)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr RunField(PlanChoice choice) : number_(config_field_count + static_cast<std::size_t>(choice)) {}
  [[nodiscard]] static constexpr RunField numbered(std::size_t number) {
    if (number < config_field_count) return static_cast<ConfigField>(number);
    return static_cast<PlanChoice>(number - config_field_count);
  }
  [[nodiscard]] constexpr std::size_t number() const { return number_; }
  [[nodiscard]] constexpr std::optional<PlanChoice> choice() const {
    if (number_ < config_field_count) return std::nullopt;
    return static_cast<PlanChoice>(number_ - config_field_count);
  }
  friend constexpr bool operator==(const RunField&, const RunField&) = default;

 private:
  std::size_t number_;
};

/// The values of a run for each field: numbers, and words that the table of a tool translates. Fields that the run does not
/// use are unset.
class RunValues {
 public:
  [[nodiscard]] const std::optional<std::string>& operator[](RunField field) const { return values_[field.number()]; }
  void set(RunField field, std::string_view value) { values_[field.number()] = std::string(value); }
  void set(RunField field, std::int64_t value) { values_[field.number()] = std::to_string(value); }
  void flag(RunField field, bool value) { set(field, value ? "yes" : "no"); }
  void clear(RunField field) { values_[field.number()].reset(); }
  [[nodiscard]] bool is(RunField field, std::string_view value) const { return values_[field.number()] == value; }

 private:
  std::array<std::optional<std::string>, RunField::count> values_{};
};

}  // namespace ddl
