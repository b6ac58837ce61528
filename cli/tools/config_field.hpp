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

/// The meaning of a tool's argument, independent of its name in the tool. Choices of plans are in
/// PlanChoice instead. Values are whole numbers, or words of this program.
enum class ConfigField {
  // The model.
  model,           ///< the name of a bundled model or of a model on Hugging Face
  flavor,          ///< the size of the model in torchtitan: `8B`
  family,          ///< the family to which the sizes belong, if the program decides it: `bert`
  tokenizer,       ///< the tokenizer's name or path, which determines the vocabulary
  tokenizer_kind,  ///< the class of the tokenizer: `GPT2BPETokenizer`
  layers,
  hidden,
  heads,
  kv_heads,
  head_size,
  feed_forward,
  feed_forward_ratio,     ///< feed_forward / hidden
  feed_forward_halves,    ///< yes: feed_forward is the sum of the widths of gate and value in a gated MLP
  feed_forward_multiple,  ///< the width of a gated MLP is two thirds of half of feed_forward, rounded up to a multiple
  vocabulary,
  vocabulary_multiple,
  positions,
  sequence,
  added_tokens,  ///< tokens of the prompt, in addition to `sequence`
  experts,
  active_experts,
  expert_feed_forward,
  gated,            ///< yes or no: the MLP is gated
  activation,       ///< activation of the MLP: gelu, relu2 or swiglu
  norm,             ///< type of norms: layer or rms
  position,         ///< position embeddings: learned, rope or none
  rotary_percent,   ///< rotated share of the channels of a head, 0 to 1
  bias,             ///< yes or no: linear layers have biases
  qkv_bias,         ///< yes or no: the projections of queries, keys and values have biases
  query_key_norm,   ///< yes or no: queries and keys are normalized
  grouped_queries,  ///< yes or no: attention uses kv_heads
  tied,             ///< yes or no: embedding and output layer share their weights
  hidden_dropout,
  attention_dropout,
  attention,       ///< attention kernels: fused, unfused, flash2 or flash3
  implementation,  ///< fused or unfused; used if `attention` is not given
  parallel,        ///< yes: attention and MLP of a block have the same input
  expert_layers,   ///< which blocks have experts: each nth block, or `[0]*3+[1]*58`
  dense_layers,    ///< number of first blocks without experts
  shared_width,    ///< width of the MLP of a mixture that all tokens share
  shared_experts,  ///< width of the MLP that all tokens share, in experts
  shared_gate,     ///< yes or no: one factor for each token weighs its result
  scores,          ///< scores of the router: softmax or sigmoid
  expert_groups,
  active_groups,
  query_rank,   ///< channels of the compressed queries of latent attention
  kv_rank,      ///< channels of the compressed keys and values
  key_size,     ///< channels of a head's key without those of its position
  rotary_size,  ///< channels of a head's key with its position
  value_size,
  predicted,  ///< number of tokens after the next token that training predicts
  latent,     ///< yes: multi-head latent attention
  // Devices.
  gpus,
  nodes,
  gpus_per_node,  ///< `8`, or `a100:8`
  // Degrees.
  tensor,
  pipeline,
  context,
  expert,
  replicas,  ///< number of copies of the model
  data_replicate,
  data_shard,  ///< -1: all remaining ranks
  // The batch.
  global_batch,
  samples_each,    ///< sequences in each sample that global_batch counts
  micro_batch,     ///< samples that a replica processes at once
  device_batch,    ///< samples that a replica processes at once, divided by the devices of a replica; may be a fraction
  accumulation,    ///< micro-batches that a replica processes per update
  pipeline_batch,  ///< samples per micro-batch of a pipeline, if micro_batch counts all samples of a replica
  micro_batches,
  // Choices of plans, as tools define them.
  sharding,          ///< the ZeRO stage; if `fsdp` is yes, takes precedence over `zero`
  fsdp,              ///< yes: FSDP shards the weights
  shards_nodes,      ///< yes: weights are sharded among the GPUs of a node
  reshards,          ///< yes or no; no: ZeRO-3 keeps weights gathered after the forward pass
  recompute_method,  ///< block, or uniform
  recompute_layers,  ///< blocks per group (uniform), or recomputed blocks (block)
  recompute_share,   ///< the recomputed share of the blocks, 0 to 1
  offload_weights,   ///< yes or no; yes takes precedence over PlanChoice::offload
  expert_tensor,     ///< tensor degree of the experts
  interleaved,       ///< yes or no: the schedule uses virtual stages
  layers_per_virtual_stage,
  stage_layout,    ///< the layers of each virtual stage, as Megatron-LM writes them: `Et*3|tt|L`
  embedding_slot,  ///< yes or no: the embedding counts as a block of the first stage
  loss_slot,       ///< yes or no: head and loss count as a block of the last stage
  routing,         ///< a name of the enumeration Routing
  routing_forced,  ///< yes or no: benchmarks give each expert equally many tokens
  routing_bias,    ///< yes or no: a bias for each expert balances their loads
  capacity_factor,
  padded_experts,  ///< yes or no: each expert computes its capacity
  precision,
  fp8,      ///< yes or no: FP8 is used
  fp4,      ///< yes or no: FP4 is used
  adapter,  ///< lora, or none
  adapter_rank,
  adapter_layers,  ///< names of the matrices with adapters
  adapter_dropout,
  adapter_kind,         ///< lora, dora, loha or lokr
  projection,           ///< galore or apollo: the optimizer projects gradients
  projection_rank,      ///< the rank of the projected gradients
  projection_every,     ///< steps between two projections
  projected_modules,    ///< names of the modules whose gradients are projected
  optimizer_arguments,  ///< arguments of the optimizer as one text: `rank=64, update_proj_gap=100`
  updates_in_backward,  ///< yes or no: backward updates each weight as soon as its gradient exists
  mlp_tiles,            ///< tiles of tokens of an MLP; 0: as long as the hidden size
  base,                 ///< format of frozen weights
  main_gradients,       ///< full or half: precision in which gradients are summed
  master_weights,       ///< precision of the master copy of the weights
  moments,              ///< precision of the optimizer's moments
  loss,                 ///< implementation of cross entropy
  pure,                 ///< yes: weights, gradients and optimizer state are in half precision
  optimizer,
  momentum,    ///< the momentum of SGD
  overlap,     ///< yes or no: the gradient exchange is overlapped
  syncs_each,  ///< yes or no: gradients are exchanged after each micro-batch
  compiled,    ///< yes or no: the model is compiled
  allocator,   ///< options of PyTorch's allocator, separated by commas
  distributed_type,
  // Further configuration files.
  deepspeed_file,
  trainer_file,
  accelerate_file,
  // What fine-tuning loads, trains and freezes.
  loaded,            ///< full: frozen weights are loaded in fp32, unless a framework converts or quantizes them
  trained_modules,   ///< modules that are trained whole, in addition to adapters
  frozen_encoder,    ///< yes or no: the encoder is not trained
  frozen_features,   ///< yes or no: the layers that read the waves of speech are not trained
  frozen_vision,     ///< yes or no: the vision transformer of a vision language model is not trained
  frozen_projector,  ///< yes or no: the layers between vision transformer and language model are not trained
};
inline constexpr std::size_t config_field_count = enum_count<ConfigField>();

/// A field of a configuration: a ConfigField or a PlanChoice.
class RunField {
 public:
  static constexpr std::size_t count = config_field_count + plan_choice_count;

  // NOLINTNEXTLINE(google-explicit-constructor): callers pass a ConfigField or a PlanChoice
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

/// The values that a training run gives to the fields of a configuration. A value is a number, or a
/// word that the table of a tool translates. Fields that the training run does not use are unset.
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
