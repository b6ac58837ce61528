#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// Reads the keys that BERT and its successors share. `classes`: the beginning of the names of a model's classes.
FamilyModel read_encoder(HuggingFaceConfig& config, std::string_view classes, std::int64_t vocabulary) {
  FamilyModel model{.family = "bert"};
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("vocabulary", config.size({"vocab_size"}, vocabulary));
  model.set("types", config.integer({"type_vocab_size"}, 2));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, 0.1));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, 0.1));
  model.set("head", config.head_with(classes, {{"ForPreTraining", "pretraining"},
                                               {"ForMaskedLM", "masked_words"},
                                               {"Model", "none"},
                                               {"ForSequenceClassification", "sequence"},
                                               {"ForTokenClassification", "tokens"},
                                               {"ForQuestionAnswering", "tokens"}}));
  model.set("classes", config.labels());
  const std::string positions = config.text({"position_embedding_type"}, "absolute");
  if (positions != "absolute") {
    config.unknown("position_embedding_type", fmt::format("unknown kind of positions {}", quote(positions)),
                   "known: absolute");
    config.warn("read as if positions were absolute");
  }
  config.require("is_decoder", false, "each token attends to all others");
  config.require("add_cross_attention", false, "these layers read no encoder");
  config.require("tie_word_embeddings", true, "the head shares the embedding");
  return model;
}

/// Reads a model in which positions are counted from the padding token's number plus 1. By default,
/// the padding token has the number 1.
FamilyModel read_padded(HuggingFaceConfig& config, std::string_view classes, std::int64_t vocabulary) {
  FamilyModel model = read_encoder(config, classes, vocabulary);
  const std::int64_t positions = config.tokens({"max_position_embeddings"}, 512);
  const std::int64_t padding = config.integer({"pad_token_id"}, 1, 0);
  if (positions <= padding + 1)
    config.fail("max_position_embeddings", fmt::format("of {} positions, none is left after the padding token", positions));
  model.set("tokens", positions - padding - 1);
  model.set("positions", positions);
  return model;
}

}  // namespace

// Defaults of BertConfig.
FamilyModel read_bert(HuggingFaceConfig& config) {
  FamilyModel model = read_encoder(config, "Bert", 30522);
  model.set("tokens", config.tokens({"max_position_embeddings"}, 512));
  return model;
}

// Defaults of ErnieConfig; ERNIE has the layers of BERT.
FamilyModel read_ernie(HuggingFaceConfig& config) {
  FamilyModel model = read_encoder(config, "Ernie", 30522);
  model.set("tokens", config.tokens({"max_position_embeddings"}, 512));
  config.require("use_task_id", false, "embeddings of tasks are not supported");
  return model;
}

// Defaults of RobertaConfig, XLMRobertaConfig and CamembertConfig.
FamilyModel read_roberta(HuggingFaceConfig& config) { return read_padded(config, "Roberta", 50265); }
FamilyModel read_xlm_roberta(HuggingFaceConfig& config) { return read_padded(config, "XLMRoberta", 30522); }
FamilyModel read_camembert(HuggingFaceConfig& config) { return read_padded(config, "Camembert", 30522); }

// Defaults of DistilBertConfig: tokens have no types, and there is no pooler.
FamilyModel read_distilbert(HuggingFaceConfig& config) {
  FamilyModel model{.family = "bert"};
  const std::int64_t hidden = config.size({"dim", "hidden_size"}, 768);
  model.set("layers", config.layers({"n_layers", "num_hidden_layers"}, 6));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"n_heads", "num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"hidden_dim"}, 3072));
  model.set("vocabulary", config.size({"vocab_size"}, 30522));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 512));
  model.set("types", std::int64_t{0});
  model.set("activation", config.activation({"activation"}, "gelu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"dropout"}, 0.1));
  model.set_number("attention_dropout", config.fraction({"attention_dropout"}, 0.1));
  model.set("head", config.head_with("DistilBert", {{"ForMaskedLM", "masked_words"},
                                                    {"Model", "bare"},
                                                    {"ForSequenceClassification", "sequence"},
                                                    {"ForTokenClassification", "tokens"},
                                                    {"ForQuestionAnswering", "tokens"}}));
  model.set("classes", config.labels());
  config.require("tie_word_embeddings", true, "the head shares the embedding");
  config.require("sinusoidal_pos_embds", false, "positions are trained");
  return model;
}

}  // namespace ddl
