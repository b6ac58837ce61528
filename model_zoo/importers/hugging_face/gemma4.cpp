#include <algorithm>
#include <string>

#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

/// By default, every sixth layer attends to all tokens, and all other layers have a window.
constexpr std::size_t usual_period = 6;

std::string quoted_pattern(std::string_view letters) { return fmt::format("\"{}\"", shortest_pattern(letters)); }

/// Returns a letter for each layer: W with a window, F without. In the library, the last layer never has a window.
std::string gemma4_letters(HuggingFaceConfig& config, std::size_t layers) {
  std::string letters;
  if (auto listed = config.pattern({"layer_types"}, {{"sliding_attention", 'W'}, {"full_attention", 'F'}})) {
    letters = *listed;
    if (letters.size() != layers)
      config.fail("layer_types",
                  fmt::format("'layer_types' has {} entries, but there are {} layers", letters.size(), layers));
  } else {
    for (std::size_t layer = 1; layer <= layers; ++layer) letters += layer % usual_period == 0 ? 'F' : 'W';
  }
  letters.back() = 'F';
  return letters;
}

/// Reads the number of last layers without keys and values of their own. They use those of the last earlier layer of their
/// kind.
void read_borrowing(HuggingFaceConfig& config, FamilyModel& model, const std::string& letters) {
  const auto layers = static_cast<std::int64_t>(letters.size());
  const std::int64_t shared = config.integer({"num_kv_shared_layers"}, 0, 0, layers - 1);
  if (shared == 0) {
    model.set("pattern", quoted_pattern(letters));
    return;
  }
  config.require("use_double_wide_mlp", false, "no family has wider MLPs in the last layers");
  const auto own = static_cast<std::size_t>(layers - shared);
  if (own < 3 || letters.substr(own - 2, 2) != "WF")
    config.fail("num_kv_shared_layers",
                "the layers before those that share keys and values do not end with a layer of each kind");
  model.set("pattern", quoted_pattern(letters.substr(0, own - 2)));
  model.set("borrowing", quoted_pattern(letters.substr(own)));
}

void read_mixture(HuggingFaceConfig& config, FamilyModel& model) {
  for (const std::string_view key : {"num_experts", "top_k_experts", "moe_intermediate_size", "expert_intermediate_size"})
    config.accept(key);
  if (!config.boolean("enable_moe_block", false)) return;
  for (const std::string_view key : {"num_experts", "top_k_experts"}) {
    if (!config.has(key) || config.is_null(key))
      config.fail("enable_moe_block", fmt::format("the configuration has no '{}', and the library has no default", key));
  }
  const auto [experts, active] = config.experts({"num_experts"}, 2, {"top_k_experts"}, 1);
  model.set("experts", experts);
  model.set("active", active);
  model.set("expert_feed_forward", config.integer({"moe_intermediate_size", "expert_intermediate_size"}, 0));
}

}  // namespace

// Defaults of Gemma4TextConfig. The cap of the output is always present in the family.
FamilyModel read_gemma4(HuggingFaceConfig& config) {
  FamilyModel model{.family = "gemma4"};
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 30);
  const std::string letters = gemma4_letters(config, static_cast<std::size_t>(std::max<std::int64_t>(layers, 1)));
  read_borrowing(config, model, letters);
  const std::int64_t heads = config.size({"num_attention_heads"}, 8), kv_heads = kv_heads_of(config, heads, 4);
  const std::int64_t full_size = config.integer({"global_head_dim"}, 512);
  // Where keys are also the values, layers without a window may have another number of heads.
  const bool keys_are_values = config.boolean("attention_k_eq_v", false);
  const std::int64_t full_heads = config.integer({"num_global_key_value_heads"}, kv_heads);
  const std::int64_t vocabulary = config.size({"vocab_size"}, 262144);
  const std::int64_t per_layer =
      config.is_null("hidden_size_per_layer_input") ? 0 : config.integer({"hidden_size_per_layer_input"}, 256, 0);
  model.set("hidden", config.size({"hidden_size"}, 2304));
  model.set("heads", heads);
  model.set("kv_heads", kv_heads);
  model.set("head_size", config.integer({"head_dim"}, 256));
  model.set("full_kv_heads", keys_are_values ? full_heads : kv_heads);
  model.set("full_head_size", full_size);
  model.set("full_turned", std::max<std::int64_t>(full_size / 8 * 2, 2));  // a quarter of the channels, in pairs
  model.set_flag("full_own_values", !keys_are_values);
  model.set("feed_forward", config.size({"intermediate_size"}, 9216));
  read_mixture(config, model);
  model.set("per_layer", per_layer);
  model.set("layers", layers);
  model.set("vocabulary", vocabulary);
  model.set("tokens", config.tokens({"max_position_embeddings"}, 131072));
  model.set("window", config.integer({"sliding_window"}, 512));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  const std::int64_t second = config.integer({"vocab_size_per_layer_input"}, 262144);
  if (per_layer > 0 && second != vocabulary)
    config.fail("vocab_size_per_layer_input", "the second embedding has another vocabulary than the first");
  config.require("attention_bias", false, "no family of Gemma 4 has biases");
  for (const std::string_view key : {"final_logit_softcapping", "use_double_wide_mlp"}) config.accept(key);
  if (config.activation({"hidden_activation"}, "gelu_pytorch_tanh") != "gelu")
    config.fail("hidden_activation", "the MLPs of Gemma 4 have gelu");
  if (!config.tied(true)) config.fail("tie_word_embeddings", "the head of Gemma 4 shares the embedding");
  if (config.is_text("use_bidirectional_attention") && config.text({"use_bidirectional_attention"}, "") == "all")
    config.fail("use_bidirectional_attention", "no family of Gemma 4 attends to later tokens");
  if (config.head_of("Gemma4") != "language_model")
    config.fail("architectures", "only language models of Gemma 4 are read: Gemma4ForCausalLM");
  return model;
}

}  // namespace ddl
