#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of BloomConfig, where `n_embed` has priority over `hidden_size`. ALiBi has no maximum sequence
// length. Published models store their training length as `seq_length`, which is 2048 for all BLOOM models.
FamilyModel read_bloom(HuggingFaceConfig& config) {
  FamilyModel model{.family = "bloom"};
  const std::int64_t hidden = config.size({"n_embed", "hidden_size"}, 64);
  model.set("layers", config.layers({"n_layer", "num_hidden_layers"}, 2));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"n_head", "num_attention_heads"}, 8, hidden));
  model.set("vocabulary", config.size({"vocab_size"}, 250880));
  model.set("tokens", config.tokens({"seq_length"}, 2048));
  model.set_flag("fused", false);  // the library runs BLOOM only with attention that writes its scores
  model.set_number("dropout", config.fraction({"hidden_dropout"}, 0));
  model.set_number("attention_dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, "Bloom", true);
  config.require("apply_residual_connection_post_layernorm", false, "residuals are taken before the norm");
  return model;
}

}  // namespace ddl
