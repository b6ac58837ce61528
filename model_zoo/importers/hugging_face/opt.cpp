#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// Defaults of OPTConfig.
FamilyModel read_opt(HuggingFaceConfig& config) {
  FamilyModel model{.family = "opt"};
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  const std::int64_t positions = config.tokens({"max_position_embeddings"}, 2048);
  const bool norm_first = config.boolean("do_layer_norm_before", true);
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"ffn_dim"}, 3072));
  model.set("vocabulary", config.size({"vocab_size"}, 50272));
  model.set("tokens", positions);
  model.set("positions", positions + 2);  // OPTLearnedPositionalEmbedding has an offset of 2
  model.set("embedding", config.integer({"word_embed_proj_dim"}, hidden));
  model.set_flag("norm_first", norm_first);
  model.set_flag("final_norm", norm_first && !config.boolean("_remove_final_layer_norm", false));
  model.set_flag("bias", config.boolean("enable_bias", true));
  model.set("activation", config.activation({"activation_function"}, "relu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"dropout"}, 0.1));
  model.set_number("attention_dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, "OPT", true);
  config.require("layer_norm_elementwise_affine", true, "norms have a trained scale and shift");
  return model;
}

}  // namespace ddl
