#include <string>

#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// The kinds of layers as letters of the family: `f` for the first, `F` for attention to all tokens, `W` for a window.
std::string modernbert_pattern(HuggingFaceConfig& config) {
  constexpr std::int64_t usual_layers = 22, usual_step = 3;
  const std::int64_t layers = config.layers({"num_hidden_layers"}, usual_layers);
  const std::int64_t step = config.integer({"global_attn_every_n_layers"}, usual_step);
  std::string letters;
  for (std::int64_t i = 0; i < layers; ++i) letters += i % step == 0 ? 'F' : 'W';
  const auto listed = config.pattern({"layer_types"}, {{"full_attention", 'F'}, {"sliding_attention", 'W'}});
  if (listed && static_cast<std::int64_t>(listed->size()) != layers)
    config.fail("layer_types", fmt::format("{} kinds of layers for {} layers", listed->size(), layers));
  if (listed) letters = *listed;
  if (letters.front() != 'F')
    config.fail("layer_types", "the first layer has a window",
                "the first layer of the bundled models attends to all tokens");
  letters.front() = 'f';
  return letters;
}

}  // namespace

// The defaults are those of ModernBertConfig.
FamilyModel read_modernbert(HuggingFaceConfig& config) {
  FamilyModel model{.family = "modernbert"};
  static_cast<void>(config.head_with("ModernBert", {{"ForMaskedLM", "masked_words"}}));
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  model.set("pattern", fmt::format("\"{}\"", modernbert_pattern(config)));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 1152));
  model.set("vocabulary", config.size({"vocab_size"}, 50368));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 8192));
  model.set("window", config.integer({"local_attention"}, 128) + 1);
  if (config.activation({"hidden_activation"}, "gelu") != "gelu")
    config.fail("hidden_activation", "MLPs of the bundled models have gelu");
  for (const std::string_view key : {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias"})
    config.require(key, false, "layers of the bundled models have no biases");
  config.require("decoder_bias", true, "the head of the bundled models has a bias");
  config.require("tie_word_embeddings", true, "the head shares the embedding");
  for (const std::string_view key : {"rope_parameters", "attention_dropout", "embedding_dropout", "mlp_dropout"})
    config.accept(key);
  return model;
}

}  // namespace ddl
