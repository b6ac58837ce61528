#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

/// Reads a list with a number for each layer, 0 or 1; empty if there is no list.
std::optional<std::vector<std::int64_t>> switches(HuggingFaceConfig& config, std::string_view key, std::size_t layers) {
  auto numbers = config.numbers(key, 0);
  if (!numbers) return std::nullopt;
  const bool are_switches = std::all_of(numbers->begin(), numbers->end(), [](std::int64_t each) { return each <= 1; });
  if (numbers->size() != layers || !are_switches)
    config.fail(key, fmt::format("{} is not a list of {} numbers, 0 or 1", quote(key), layers));
  return numbers;
}

/// Returns a letter for each layer: W with a window, F without, in lower case if the layer has experts.
std::string mimo_letters(HuggingFaceConfig& config, std::size_t layers) {
  constexpr std::size_t period = 6;  // in the released model, from the sixth layer on
  const auto windows = switches(config, "hybrid_layer_pattern", layers),
             experts = switches(config, "moe_layer_freq", layers);
  std::string letters;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const bool is_window = windows ? (*windows)[layer] == 1 : layer != 0 && layer % period != period - 1;
    const bool has_experts = experts ? (*experts)[layer] == 1 : layer != 0;
    letters += is_window ? (has_experts ? 'w' : 'W') : has_experts ? 'f' : 'F';
  }
  return letters;
}

}  // namespace

// Defaults of MiMoV2FlashConfig.
FamilyModel read_mimo_v2_flash(HuggingFaceConfig& config) {
  FamilyModel model{.family = "decoder"};
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 48);
  const std::string letters = mimo_letters(config, static_cast<std::size_t>(layers));
  const std::int64_t heads = config.size({"num_attention_heads"}, 64), head_size = config.integer({"head_dim"}, 192);
  const std::int64_t value_size = config.integer({"v_head_dim"}, 128);
  const auto [experts, active] = config.experts({"n_routed_experts"}, 256, {"num_experts_per_tok"}, 8);
  model.set("pattern", fmt::format("\"{}\"", shortest_pattern(letters)));
  model.set("hidden", config.size({"hidden_size"}, 4096));
  model.set("heads", heads);
  model.set("kv_heads", kv_heads_of(config, heads, 4));
  model.set("head_size", head_size);
  model.set("value_size", value_size);
  model.set_flag("apart", true);
  model.set("window_heads", config.integer({"swa_num_attention_heads"}, heads));
  model.set("window_kv_heads", config.integer({"swa_num_key_value_heads"}, 8));
  model.set_flag("window_sinks", config.boolean("add_swa_attention_sink_bias", true));
  model.set("window", config.integer({"sliding_window", "sliding_window_size"}, 128));
  model.set("turned", config.turned({"partial_rotary_factor"}, 0.334, head_size));
  model.set("feed_forward", config.size({"intermediate_size"}, 16384));
  model.set("vocabulary", config.size({"vocab_size"}, 152576));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 262144));
  model.set("experts", experts);
  model.set("active", active);
  model.set("expert_feed_forward", config.integer({"moe_intermediate_size"}, 2048));
  model.set("scores", "sigmoid");
  model.set_flag("correction", true);
  model.set("groups", config.integer({"n_group"}, 1));
  model.set("active_groups", config.integer({"topk_group"}, 1));
  model.set("activation", config.activation({"hidden_act"}, "silu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, "MiMoV2Flash", false);
  config.require_number("swa_head_dim", static_cast<double>(head_size), "all heads have one size");
  config.require_number("swa_v_head_dim", static_cast<double>(value_size), "all heads have one size");
  config.require("attention_bias", false, "the attention of the bundled models has no biases");
  config.require("add_full_attention_sink_bias", false, "only layers with a window have trained numbers in the softmax");
  if (!config.is_null("n_shared_experts"))
    config.require_number("n_shared_experts", 0, "the bundled models have no shared experts");
  for (const std::string_view key : {"n_shared_experts", "attention_chunk_size", "attention_value_scale", "scoring_func",
                                     "topk_method", "swa_rope_theta", "sliding_window_size", "layernorm_epsilon"})
    config.accept(key);
  config.warn_of_predictors();
  return model;
}

}  // namespace ddl
