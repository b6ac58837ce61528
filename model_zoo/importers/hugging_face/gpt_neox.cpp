#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// Defaults of GPTNeoXConfig.
FamilyModel read_gpt_neox(HuggingFaceConfig& config) {
  FamilyModel model{.family = "gpt-neox"};
  const std::int64_t hidden = config.size({"hidden_size"}, 6144);
  const std::int64_t heads = config.heads({"num_attention_heads"}, 64, hidden);
  model.set("layers", config.layers({"num_hidden_layers"}, 44));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("feed_forward", config.size({"intermediate_size"}, 24576));
  model.set("vocabulary", config.size({"vocab_size"}, 50432));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 2048));
  model.set("turned", config.turned({"rotary_pct", "partial_rotary_factor"}, 0.25, hidden / heads));
  model.set_flag("parallel", config.boolean("use_parallel_residual", true));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set("fused", config.fused());
  model.set_flag("attention_bias", config.boolean("attention_bias", true));
  model.set_number("dropout", config.fraction({"hidden_dropout"}, 0));
  model.set_number("attention_dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, "GPTNeoX", false);
  return model;
}

}  // namespace ddl
