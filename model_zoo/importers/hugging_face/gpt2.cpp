#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of GPT2Config. A file may have several different dropout rates.
FamilyModel read_gpt2(HuggingFaceConfig& config) {
  FamilyModel model{.family = "gpt"};
  const std::int64_t hidden = config.size({"n_embd", "hidden_size"}, 768);
  const std::int64_t tokens = config.tokens({"n_positions", "max_position_embeddings", "n_ctx"}, 1024);
  model.set("layers", config.layers({"n_layer", "num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"n_head", "num_attention_heads"}, 12, hidden));
  model.set("vocabulary", config.size({"vocab_size"}, 50257));
  model.set("tokens", tokens);
  model.set("feed_forward", config.integer({"n_inner"}, 4 * hidden));
  model.set("activation", config.activation({"activation_function"}, "gelu_new"));
  // The library implements NewGELUActivation with unfused operators.
  model.set_flag("composed", config.text({"activation_function"}, "gelu_new") == "gelu_new");
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"resid_pdrop"}, 0.1));
  model.set_number("attention_dropout", config.fraction({"attn_pdrop"}, 0.1));
  model.set_number("embedding_dropout", config.fraction({"embd_pdrop"}, 0.1));
  model.set("head", config.head_with("GPT2", {{"LMHeadModel", "language_model"},
                                              {"Model", "none"},
                                              {"ForSequenceClassification", "classifier"}}));
  model.set_flag("tied", config.tied(true));
  model.set("labels", config.labels());
  config.require("add_cross_attention", false, "these layers read no encoder");
  return model;
}

// The defaults are those of BioGptConfig. BioGptLearnedPositionalEmbedding has an offset of 2.
FamilyModel read_biogpt(HuggingFaceConfig& config) {
  FamilyModel model{.family = "gpt"};
  const std::int64_t hidden = config.size({"hidden_size"}, 1024);
  const std::int64_t tokens = config.tokens({"max_position_embeddings"}, 1024);
  model.set("layers", config.layers({"num_hidden_layers"}, 24));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 16, hidden));
  model.set("vocabulary", config.size({"vocab_size"}, 42384));
  model.set("tokens", tokens);
  model.set("positions", tokens + 2);
  model.set("feed_forward", config.size({"intermediate_size"}, 4096));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, 0.1));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, 0.1));
  model.set("head", config.head_of("BioGpt"));
  model.set_flag("tied", config.tied(true));
  model.set("labels", config.labels());
  config.require_number("activation_dropout", 0, "the family has no dropout inside its MLPs");
  config.accept("scale_embedding");
  return model;
}

}  // namespace ddl
