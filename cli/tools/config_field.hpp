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

/// The meaning of an argument that is not a PlanChoice, independent of the argument's name in a tool. Values are whole
/// numbers, or words of this program.
enum class ConfigField {
  // The model.
  model,      ///< the name of a bundled model or of a model on Hugging Face
  flavor,     ///< the size of the model in torchtitan: `8B`
  tokenizer,  ///< the tokenizer's name, which determines the vocabulary
  layers,
  hidden,
  heads,
  kv_heads,
  head_size,
  feed_forward,
  feed_forward_ratio,   ///< feed_forward / hidden
  feed_forward_halves,  ///< yes: feed_forward counts the gate and the value of a gated perceptron together
  vocabulary,
  vocabulary_multiple,
  positions,
  sequence,
  added_tokens,  ///< tokens of the prompt, in addition to `sequence`
  experts,
  active_experts,
  expert_feed_forward,
  gated,            ///< yes or no
  activation,       ///< gelu, relu2, swiglu
  norm,             ///< layer or rms
  position,         ///< learned, rope or none
  rotary_percent,   ///< 0 to 1
  bias,             ///< yes or no: linear layers have biases
  qkv_bias,         ///< yes or no
  query_key_norm,   ///< yes or no
  grouped_queries,  ///< yes or no: kv_heads is used
  tied,             ///< yes or no
  hidden_dropout,
  attention_dropout,
  attention,       ///< fused or unfused
  implementation,  ///< fused or unfused; used if `attention` is not given
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
  replicas,  ///< copies of the model
  data_replicate,
  data_shard,  ///< -1: all remaining ranks
  // The batch.
  global_batch,
  samples_each,    ///< sequences per sample of global_batch
  micro_batch,     ///< samples that a replica processes at a time
  accumulation,    ///< micro-batches of a replica per update
  pipeline_batch,  ///< samples of a pipeline's micro-batch, if micro_batch is the whole share of a replica
  micro_batches,
  // Choices of plans in the terms of a tool.
  sharding,          ///< the ZeRO stage, which replaces `zero` if `fsdp` is yes
  fsdp,              ///< yes
  shards_nodes,      ///< yes: weights are sharded among the GPUs of a node
  reshards,          ///< of ZeRO-3: yes or no; no: weights stay gathered after forward
  recompute_method,  ///< block, or uniform
  recompute_layers,  ///< blocks per group (uniform), or recomputed blocks (block)
  recompute_share,   ///< the recomputed share of the blocks, 0 to 1
  offload_weights,   ///< yes or no; yes takes precedence over PlanChoice::offload
  expert_tensor,     ///< the tensor degree of experts
  interleaved,       ///< yes or no: the schedule uses virtual stages
  layers_per_virtual_stage,
  precision,
  fp8,      ///< yes or no
  fp4,      ///< yes or no
  adapter,  ///< lora, or none
  adapter_rank,
  optimizer,
  momentum,  ///< the momentum of SGD
  overlap,   ///< yes or no: the gradient exchange is overlapped
  compiled,  ///< yes or no
  distributed_type,
  // Further configuration files.
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
