#include <string>

#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {

// Defaults of GPTNeoConfig. Queries, keys and values have no biases. In every second layer, a token attends to a window.
FamilyModel read_gpt_neo(HuggingFaceConfig& config) {
  FamilyModel model{.family = "decoder"};
  const std::int64_t hidden = config.size({"hidden_size"}, 2048);
  const auto layers = static_cast<std::size_t>(config.layers({"num_layers", "num_hidden_layers"}, 24));
  const std::int64_t tokens = config.tokens({"max_position_embeddings"}, 2048);
  std::string letters(layers, 'F');
  for (std::size_t i = 1; i < layers; i += 2) letters[i] = 'W';
  // `attention_types` is a shorter form of the list.
  const auto types = config.repeated_pattern("attention_types", {{"global", 'F'}, {"local", 'W'}}, layers);
  if (types) {
    if (types->size() != layers) {
      config.fail("attention_types",
                  fmt::format("'attention_types' has {} entries, but there are {} layers", types->size(), layers));
    }
    letters = *types;
  }
  if (const auto listed = config.pattern({"attention_layers"}, {{"global", 'F'}, {"local", 'W'}})) {
    if (listed->size() != layers) {
      config.fail("attention_layers",
                  fmt::format("'attention_layers' has {} entries, but there are {} layers", listed->size(), layers));
    }
    if (types && *types != *listed) config.fail("attention_types", "'attention_types' contradicts 'attention_layers'");
    letters = *listed;
  }
  model.set("pattern", fmt::format("\"{}\"", shortest_pattern(letters)));
  model.set("window", config.integer({"window_size"}, 256));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_heads", "num_attention_heads"}, 16, hidden));
  const std::int64_t usual = 4 * hidden;
  model.set("feed_forward", config.is_null("intermediate_size") ? usual : config.integer({"intermediate_size"}, usual));
  model.set("vocabulary", config.size({"vocab_size"}, 50257));
  model.set("tokens", tokens);
  model.set("positions", tokens);
  model.set("turned", std::int64_t{0});
  model.set("norm", "layer");
  model.set_flag("norm_bias", true);
  model.set("activation", config.activation({"activation_function"}, "gelu_new"));
  model.set_flag("gated", false);
  model.set_flag("projection_bias", true);
  model.set_flag("feed_forward_bias", true);
  model.set("fused", config.fused("eager"));
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  model.set_number("residual_dropout", config.fraction({"resid_dropout"}, 0));
  model.set_number("embedding_dropout", config.fraction({"embed_dropout"}, 0));
  model.set_head(config, "GPTNeo", true);
  config.accept("classifier_dropout");
  return model;
}

}  // namespace ddl
