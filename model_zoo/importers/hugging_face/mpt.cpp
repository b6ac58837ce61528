#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of MptConfig. The library supports only ALiBi and eager attention.
FamilyModel read_mpt(HuggingFaceConfig& config) {
  FamilyModel model{.family = "mpt"};
  const std::int64_t hidden = config.size({"d_model", "hidden_size"}, 2048);
  model.set("layers", config.layers({"n_layers", "num_hidden_layers"}, 24));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"n_heads", "num_attention_heads"}, 16, hidden));
  model.set("feed_forward", config.integer({"expansion_ratio"}, 4, 1, 1024) * hidden);
  model.set("vocabulary", config.size({"vocab_size"}, 50368));
  model.set("tokens", config.tokens({"max_seq_len"}, 2048));
  model.set("fused", "no");
  model.set_number("dropout", config.fraction({"resid_pdrop"}, 0));
  model.set_number("embedding_dropout", config.fraction({"emb_pdrop"}, 0));
  model.set_head(config, "Mpt", true, "MPT");
  config.require("no_bias", true, "matrices and norms have no bias");
  // With ALiBi, no position embedding is trained, so the library ignores these two keys.
  static_cast<void>(config.boolean("learned_pos_emb", true));
  if (config.inner_text("attn_config", "attn_type", "multihead_attention") != "multihead_attention") {
    config.unknown("attn_config/attn_type", "queries, keys and values have the same number of heads here");
    config.warn("read as multihead_attention");
  }
  if (!config.inner_boolean("attn_config", "alibi", true)) {
    config.unknown("attn_config/alibi", "the library always uses ALiBi, regardless of the file");
    config.warn("read as if 'alibi' were true");
  }
  if (config.inner_boolean("attn_config", "qk_ln", false)) {
    config.unknown("attn_config/qk_ln", "queries and keys have no norm");
    config.warn("read as if 'qk_ln' were false");
  }
  return model;
}

}  // namespace ddl
