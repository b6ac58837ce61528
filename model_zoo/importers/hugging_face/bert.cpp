#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// Defaults of BertConfig.
FamilyModel read_bert(HuggingFaceConfig& config) {
  FamilyModel model{.family = "bert"};
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("vocabulary", config.size({"vocab_size"}, 30522));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 512));
  model.set("types", config.integer({"type_vocab_size"}, 2));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, 0.1));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, 0.1));
  model.set("head", config.head({{"BertForPreTraining", "pretraining"},
                                 {"BertForMaskedLM", "masked_words"},
                                 {"BertModel", "none"},
                                 {"BertForSequenceClassification", "sequence"},
                                 {"BertForTokenClassification", "tokens"},
                                 {"BertForQuestionAnswering", "tokens"}}));
  model.set("classes", config.labels());
  const std::string positions = config.text({"position_embedding_type"}, "absolute");
  if (positions != "absolute") {
    config.unknown("position_embedding_type", fmt::format("unknown kind of positions {}", quote(positions)),
                   "known: absolute");
    config.warn("read as if positions were absolute");
  }
  config.require("is_decoder", false, "each token sees all others");
  config.require("add_cross_attention", false, "these layers read no encoder");
  config.require("tie_word_embeddings", true, "the head shares the embedding");
  return model;
}

}  // namespace ddl
