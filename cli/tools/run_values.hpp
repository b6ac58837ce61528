#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/tools/configuration_format.hpp"
#include "estimator/plan/plan.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// A decoder that Megatron-LM and NeMo can describe: GPT-like or Llama-like, with or without experts.
struct Transformer {
  std::int64_t layers = 0, hidden = 0, feed_forward = 0, heads = 0, kv_heads = 0, head_size = 0;
  std::int64_t vocabulary = 0, tokens = 0, positions = 0;
  std::int64_t experts = 1, active = 1, window = 0;
  std::int64_t turned = 0;  ///< channels of each head that rotary positions rotate
  bool is_llama = false;    ///< RMS norms, rotary positions, gated MLPs; else layer norms, learned positions, plain MLPs
  bool is_tied = false, has_query_key_norm = false, has_qkv_bias = false, has_bias = false, is_fused = false;
  std::string dropout = "0", attention_dropout = "0";

  friend bool operator==(const Transformer&, const Transformer&) = default;
};
/// Returns the model as a GPT-like or Llama-like decoder; empty if it is neither.
[[nodiscard]] std::optional<Transformer> transformer_of(const Model& model);

/// Returns the degrees, batch and choices of a plan as values for the configurations of one format.
/// `layers`: number of layers of the model.
[[nodiscard]] RunValues values_of(const Plan& plan, const ConfigurationFormat& format, std::int64_t layers);
/// Returns the number of layers around the blocks, 0 to 2, that count as a block so that all virtual stages are equal: the
/// embedding, then the loss. 0 if no number makes them equal.
[[nodiscard]] int outer_slots(const Plan& plan, std::int64_t layers);
/// Adds the values that describe the model's architecture.
void add_model(RunValues& values, const Transformer& model);

}  // namespace ddl
