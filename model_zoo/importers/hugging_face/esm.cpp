#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of EsmConfig. The family is that of ESM-2, with rotary positions and the head for masked residues.
FamilyModel read_esm(HuggingFaceConfig& config) {
  FamilyModel model{.family = "esm2"};
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  if (config.text({"position_embedding_type"}, "absolute") != "rotary")
    config.fail("position_embedding_type", "only ESM-2 is read, which has rotary positions");
  if (config.activation({"hidden_act"}, "gelu") != "gelu") config.fail("hidden_act", "the MLPs of ESM-2 have gelu");
  if (!config.tied(true)) config.fail("tie_word_embeddings", "the head of ESM-2 shares the embedding");
  config.require("emb_layer_norm_before", false, "the family has no norm after the embedding");
  config.require("is_folding_model", false, "no family folds proteins");
  config.require("add_cross_attention", false, "these layers read no encoder");
  for (const std::string_view key : {"hidden_dropout_prob", "attention_probs_dropout_prob"}) {
    if (config.fraction({key}, 0.1) != 0)
      config.fail(key,
                  fmt::format("the family has no dropout{}", config.has(key) ? "" : ", and the library's default is 0.1"));
  }
  if (!config.has("vocab_size")) config.fail("", "the configuration has no 'vocab_size', and the library has no default");
  static_cast<void>(config.head_with("Esm", {{"ForMaskedLM", "language_model"}}));
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("vocabulary", config.size({"vocab_size"}, 33));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 1026));
  model.set("fused", config.fused());
  for (const std::string_view key : {"token_dropout", "vocab_list", "esmfold_config"}) config.accept(key);
  config.warn("left out: the head for contacts");
  return model;
}

}  // namespace ddl
