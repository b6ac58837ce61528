#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// Properties of this family's types that are not in their files. The class names begin with `classes`.
struct BartDefaults {
  std::string_view classes;
  std::int64_t vocabulary;
  std::string_view activation;
  bool has_trained_positions;  ///< else, positions are sines
  bool is_norm_before;         ///< whether norms stand before each part
  bool has_embedding_norm;
  std::int64_t hidden = 1024, layers = 12, decoder_layers = 12, heads = 16, feed_forward = 4096, tokens = 1024;
  std::int64_t offset = 2;                               ///< the number of the first trained position
  std::string_view ending = "ForConditionalGeneration";  ///< ending of the name of the class with a head
};

// Inputs and targets are assumed to have the same length.
FamilyModel read_bart_type(HuggingFaceConfig& config, const BartDefaults& usual) {
  FamilyModel model{.family = "bart"};
  static_cast<void>(config.head_with(usual.classes, {{usual.ending, "language_model"}}));
  const std::int64_t hidden = config.size({"d_model"}, usual.hidden);
  const std::int64_t heads = config.heads({"encoder_attention_heads"}, usual.heads, hidden);
  const std::int64_t feed_forward = config.size({"encoder_ffn_dim"}, usual.feed_forward);
  const std::int64_t tokens = config.tokens({"max_position_embeddings"}, usual.tokens);
  model.set("layers", config.layers({"encoder_layers"}, usual.layers));
  model.set("decoder_layers", config.layers({"decoder_layers"}, usual.decoder_layers));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("feed_forward", feed_forward);
  model.set("vocabulary", config.size({"vocab_size"}, usual.vocabulary));
  model.set("tokens", tokens);
  model.set("positions", usual.has_trained_positions ? tokens + usual.offset : 0);
  model.set("norms", usual.is_norm_before ? "before" : "behind");
  model.set_flag("embedding_norm", usual.has_embedding_norm);
  model.set("activation", config.activation({"activation_function"}, usual.activation));
  model.set_number("dropout", config.fraction({"dropout"}, 0.1));
  model.set("fused", config.fused());
  constexpr std::string_view halves = "the bundled models have an encoder and a decoder of equal sizes";
  config.require_number("decoder_attention_heads", static_cast<double>(heads), halves);
  config.require_number("decoder_ffn_dim", static_cast<double>(feed_forward), halves);
  config.require("tie_word_embeddings", true, "the head shares the embedding");
  // Files of 2020 repeat properties that all models of the type have.
  constexpr std::string_view own = "models of this type have these norms and positions";
  config.require("normalize_before", usual.is_norm_before, own);
  config.require("add_final_layer_norm", usual.is_norm_before, own);
  config.require("normalize_embedding", usual.has_embedding_norm, own);
  config.require("static_position_embeddings", !usual.has_trained_positions, own);
  config.require("add_bias_logits", false, "the head of the bundled models has no bias");
  for (const std::string_view key : {"num_hidden_layers", "attention_dropout", "activation_dropout", "encoder_layerdrop",
                                     "decoder_layerdrop", "extra_pos_embeddings", "scale_embedding", "layernorm_variant",
                                     "do_blenderbot_90_layernorm", "force_bos_token_to_be_generated"})
    config.accept(key);
  return model;
}

}  // namespace

FamilyModel read_bart(HuggingFaceConfig& config) {
  return read_bart_type(config, {.classes = "Bart",
                                 .vocabulary = 50265,
                                 .activation = "gelu",
                                 .has_trained_positions = true,
                                 .is_norm_before = false,
                                 .has_embedding_norm = true});
}
FamilyModel read_mbart(HuggingFaceConfig& config) {
  return read_bart_type(config, {.classes = "MBart",
                                 .vocabulary = 50265,
                                 .activation = "gelu",
                                 .has_trained_positions = true,
                                 .is_norm_before = true,
                                 .has_embedding_norm = true});
}
FamilyModel read_m2m_100(HuggingFaceConfig& config) {
  return read_bart_type(config, {.classes = "M2M100",
                                 .vocabulary = 128112,
                                 .activation = "relu",
                                 .has_trained_positions = false,
                                 .is_norm_before = true,
                                 .has_embedding_norm = false});
}
FamilyModel read_pegasus(HuggingFaceConfig& config) {
  return read_bart_type(config, {.classes = "Pegasus",
                                 .vocabulary = 50265,
                                 .activation = "gelu",
                                 .has_trained_positions = false,
                                 .is_norm_before = true,
                                 .has_embedding_norm = false});
}
// Files of Marian repeat the vocabulary's size, and that both halves share the embedding.
FamilyModel read_marian(HuggingFaceConfig& config) {
  config.require("share_encoder_decoder_embeddings", true, "the bundled models share the embedding of their words");
  if (config.has("decoder_vocab_size") && !config.is_null("decoder_vocab_size"))
    config.require_number("decoder_vocab_size", static_cast<double>(config.size({"vocab_size"}, 58101)),
                          "the bundled models share the embedding of their words");
  return read_bart_type(config, {.classes = "Marian",
                                 .vocabulary = 58101,
                                 .activation = "gelu",
                                 .has_trained_positions = false,
                                 .is_norm_before = false,
                                 .has_embedding_norm = false,
                                 .ending = "MTModel"});
}
FamilyModel read_blenderbot(HuggingFaceConfig& config) {
  return read_bart_type(config, {.classes = "Blenderbot",
                                 .vocabulary = 8008,
                                 .activation = "gelu",
                                 .has_trained_positions = true,
                                 .is_norm_before = true,
                                 .has_embedding_norm = false,
                                 .hidden = 2560,
                                 .layers = 2,
                                 .decoder_layers = 24,
                                 .heads = 32,
                                 .feed_forward = 10240,
                                 .tokens = 128,
                                 .offset = 0});
}
FamilyModel read_blenderbot_small(HuggingFaceConfig& config) {
  return read_bart_type(config, {.classes = "BlenderbotSmall",
                                 .vocabulary = 50265,
                                 .activation = "gelu",
                                 .has_trained_positions = true,
                                 .is_norm_before = false,
                                 .has_embedding_norm = true,
                                 .hidden = 512,
                                 .layers = 8,
                                 .decoder_layers = 8,
                                 .feed_forward = 2048,
                                 .tokens = 512,
                                 .offset = 0});
}
FamilyModel read_plbart(HuggingFaceConfig& config) {
  return read_bart_type(config, {.classes = "PLBart",
                                 .vocabulary = 50005,
                                 .activation = "gelu",
                                 .has_trained_positions = true,
                                 .is_norm_before = false,
                                 .has_embedding_norm = true,
                                 .hidden = 768,
                                 .layers = 6,
                                 .decoder_layers = 6,
                                 .heads = 12,
                                 .feed_forward = 3072});
}

}  // namespace ddl
