#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

namespace {

/// The defaults of T5Config, MT5Config or UMT5Config.
struct T5Defaults {
  std::int64_t layers, heads, feed_forward, vocabulary;
  std::string_view kind;
  bool tied;
  bool has_own_biases = false;  ///< whether each layer has biases of positions
};

// Inputs and targets are assumed to have the same length: 512, unless an old file has
// another `n_positions`. Attention writes its scores, because biases are added to the scores.
FamilyModel t5_model(HuggingFaceConfig& config, const std::string& classes, const T5Defaults& usual) {
  FamilyModel model{.family = "t5"};
  const std::int64_t layers = config.layers({"num_layers", "num_hidden_layers"}, usual.layers);
  const std::int64_t decoder_layers = config.integer({"num_decoder_layers"}, layers, 1, max_repeat);
  const std::string head = config.head_with(classes, {{"ForConditionalGeneration", "language_model"},
                                                      {"WithLMHeadModel", "language_model"},
                                                      {"Model", "none"},
                                                      {"EncoderModel", "encoder"}});
  model.set("layers", layers);
  model.set("decoder_layers", head == "encoder" ? 0 : decoder_layers);
  model.set("hidden", config.size({"d_model", "hidden_size"}, 512));
  model.set("heads", config.size({"num_heads", "num_attention_heads"}, usual.heads));
  model.set("head_size", config.size({"d_kv"}, 64));
  model.set("feed_forward", config.size({"d_ff"}, usual.feed_forward));
  model.set("vocabulary", config.size({"vocab_size"}, usual.vocabulary));
  model.set("tokens", config.tokens({"n_positions"}, 512));
  model.set("buckets", config.integer({"relative_attention_num_buckets"}, 32));
  if (usual.has_own_biases) model.set_flag("own_biases", true);
  // In `gated-gelu`, the prefix says that a second branch is multiplied. The activation function follows the prefix.
  constexpr std::string_view gate = "gated-";
  const std::string kind = config.text({"feed_forward_proj"}, std::string(usual.kind));
  const bool gated = kind.starts_with(gate);
  const std::string function = gated ? kind.substr(gate.size()) : kind;
  model.set("activation", config.has("dense_act_fn") ? config.activation({"dense_act_fn"}, function)
                                                     : config.activation_of("feed_forward_proj", function));
  model.set_flag("gated", gated);
  static_cast<void>(config.boolean("is_gated_act", gated));  // redundant in newer versions
  model.set_number("dropout", config.fraction({"dropout_rate"}, 0.1));
  model.set("head", head == "encoder" ? "none" : head);
  model.set_flag("tied", config.tied(usual.tied));
  return model;
}

}  // namespace

FamilyModel read_t5(HuggingFaceConfig& config) {
  return t5_model(config, "T5",
                  {.layers = 6, .heads = 8, .feed_forward = 2048, .vocabulary = 32128, .kind = "relu", .tied = true});
}

FamilyModel read_mt5(HuggingFaceConfig& config) {
  return t5_model(
      config, "MT5",
      {.layers = 8, .heads = 6, .feed_forward = 1024, .vocabulary = 250112, .kind = "gated-gelu", .tied = false});
}

FamilyModel read_umt5(HuggingFaceConfig& config) {
  config.accept("scalable_attention");
  return t5_model(config, "UMT5",
                  {.layers = 8,
                   .heads = 6,
                   .feed_forward = 1024,
                   .vocabulary = 250112,
                   .kind = "gated-gelu",
                   .tied = true,
                   .has_own_biases = true});
}

}  // namespace ddl
