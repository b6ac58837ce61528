#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of T5Config. Inputs and targets are assumed to have the same length: 512, unless an old file has
// another `n_positions`. Attention writes its scores, because biases are added to the scores.
FamilyModel read_t5(HuggingFaceConfig& config) {
  FamilyModel model{.family = "t5"};
  const std::int64_t layers = config.layers({"num_layers", "num_hidden_layers"}, 6);
  const std::int64_t decoder_layers = config.integer({"num_decoder_layers"}, layers, 1, max_repeat);
  const std::string head = config.head_with("T5", {{"ForConditionalGeneration", "language_model"},
                                                   {"WithLMHeadModel", "language_model"},
                                                   {"Model", "none"},
                                                   {"EncoderModel", "encoder"}});
  model.set("layers", layers);
  model.set("decoder_layers", head == "encoder" ? 0 : decoder_layers);
  model.set("hidden", config.size({"d_model", "hidden_size"}, 512));
  model.set("heads", config.size({"num_heads", "num_attention_heads"}, 8));
  model.set("head_size", config.size({"d_kv"}, 64));
  model.set("feed_forward", config.size({"d_ff"}, 2048));
  model.set("vocabulary", config.size({"vocab_size"}, 32128));
  model.set("tokens", config.tokens({"n_positions"}, 512));
  model.set("buckets", config.integer({"relative_attention_num_buckets"}, 32));
  // In `gated-gelu`, the prefix says that a second branch is multiplied. The activation function follows the prefix.
  constexpr std::string_view gate = "gated-";
  const std::string kind = config.text({"feed_forward_proj"}, "relu");
  const bool gated = kind.starts_with(gate);
  const std::string function = gated ? kind.substr(gate.size()) : kind;
  model.set("activation", config.has("dense_act_fn") ? config.activation({"dense_act_fn"}, function)
                                                     : config.activation_of("feed_forward_proj", function));
  model.set_flag("gated", gated);
  static_cast<void>(config.boolean("is_gated_act", gated));  // redundant in newer versions
  model.set_number("dropout", config.fraction({"dropout_rate"}, 0.1));
  model.set("head", head == "encoder" ? "none" : head);
  model.set_flag("tied", config.tied(true));
  return model;
}

}  // namespace ddl
