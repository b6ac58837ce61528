#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// Defaults of PhiConfig.
FamilyModel read_phi(HuggingFaceConfig& config) {
  FamilyModel model{.family = "phi"};
  const std::int64_t hidden = config.size({"hidden_size"}, 2048);
  const std::int64_t heads = config.heads({"num_attention_heads"}, 32, hidden);
  model.set("layers", config.layers({"num_hidden_layers"}, 24));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads_of(config, heads, 0));
  model.set("feed_forward", config.size({"intermediate_size"}, 8192));
  model.set("vocabulary", config.size({"vocab_size"}, 51200));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 2048));
  model.set("turned", config.turned({"partial_rotary_factor"}, 0.5, hidden / heads));
  model.set("activation", config.activation({"hidden_act"}, "gelu_new"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"resid_pdrop"}, 0));
  model.set_number("embedding_dropout", config.fraction({"embd_pdrop"}, 0));
  model.set_number("attention_dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, "Phi", false);
  config.require("qk_layernorm", false, "queries and keys have no norm");
  return model;
}

}  // namespace ddl
