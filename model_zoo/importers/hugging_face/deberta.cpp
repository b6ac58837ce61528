#include <algorithm>

#include "core/source_text.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// Reads the keys that both versions share. `classes`: the beginning of the names of a model's classes.
FamilyModel read_deberta_parts(HuggingFaceConfig& config, std::string_view classes, std::int64_t hidden, FamilyModel model) {
  const std::int64_t tokens = config.tokens({"max_position_embeddings"}, 512);
  model.set("hidden", hidden);
  model.set("tokens", tokens);
  model.set("positions", config.boolean("position_biased_input", true) ? tokens : 0);
  model.set("types", config.integer({"type_vocab_size"}, 0, 0));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, 0.1));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, 0.1));
  model.set("head", config.head_with(classes, {{"Model", "bare"},
                                               {"ForMaskedLM", "masked_words"},
                                               {"ForSequenceClassification", "sequence"},
                                               {"ForTokenClassification", "tokens"},
                                               {"ForQuestionAnswering", "tokens"}}));
  model.set("classes", config.labels());
  config.require("relative_attention", true, "attention has relative positions");
  if (!config.has("relative_attention")) config.fail("", "the configuration has no 'relative_attention': true");
  config.require("legacy", true, "the head is that of the library");
  config.require("talking_head", false, "the scores of heads are not mixed");
  config.require("tie_word_embeddings", true, "the head shares the embedding");
  if (config.integer({"embedding_size"}, hidden) != hidden || config.integer({"pooler_hidden_size"}, hidden) != hidden)
    config.fail(config.has("embedding_size") ? "embedding_size" : "pooler_hidden_size",
                "embedding and pooler have the channels of the layers");
  for (const std::string_view key :
       {"pooler_dropout", "pooler_hidden_act", "padding_idx", "layer_norm_eps", "attention_head_size"})
    config.accept(key);
  return model;
}

/// How many terms of a relative position scores have, of keys ('c2p') and of queries ('p2c').
struct Terms {
  std::int64_t keys = 0, queries = 0;
};
Terms terms_of(HuggingFaceConfig& config) {
  std::string text;
  if (config.is_text("pos_att_type")) {
    text = config.text({"pos_att_type"}, "");
  } else if (const auto listed = config.pattern({"pos_att_type"}, {{"c2p", 'c'}, {"p2c", 'p'}})) {
    text = (listed->find('c') != std::string::npos ? "c2p" : "") +
           std::string(listed->find('p') != std::string::npos ? "p2c" : "");
  }
  const std::int64_t keys = text.find("c2p") != std::string::npos ? 1 : 0;
  const std::int64_t queries = text.find("p2c") != std::string::npos ? 1 : 0;
  if (keys + queries == 0) config.fail("pos_att_type", "no score has a term of a relative position: known are c2p and p2c");
  return {keys, queries};
}

/// Returns the largest distance of two tokens with a row of its own.
std::int64_t distances_of(HuggingFaceConfig& config) {
  const std::int64_t positions = config.integer({"max_position_embeddings"}, 512);
  const std::int64_t said = config.integer({"max_relative_positions"}, -1, -1);
  return said < 1 ? positions : said;
}

}  // namespace

// Defaults of DebertaConfig. Queries and values have biases, and each layer has matrices for positions.
FamilyModel read_deberta(HuggingFaceConfig& config) {
  FamilyModel model{.family = "deberta"};
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("vocabulary", config.size({"vocab_size"}, 50265));
  const Terms terms = terms_of(config);
  model.set("relative", 2 * distances_of(config));
  model.set_flag("nearest", true);
  model.set("terms", terms.keys + terms.queries);
  model.set("matrices", terms.keys + terms.queries);
  model.set("matrix_biases", terms.queries);
  model.set("qkv_biases", std::int64_t{2});
  return read_deberta_parts(config, "Deberta", hidden, std::move(model));
}

// Defaults of DebertaV2Config. The convolution's keys are those of DebertaV2Encoder.
FamilyModel read_deberta_v2(HuggingFaceConfig& config) {
  FamilyModel model{.family = "deberta"};
  const std::int64_t hidden = config.size({"hidden_size"}, 1536);
  model.set("layers", config.layers({"num_hidden_layers"}, 24));
  const std::int64_t heads = config.heads({"num_attention_heads"}, 24, hidden);
  model.set("heads", heads);
  if (config.integer({"attention_head_size"}, hidden / heads) != hidden / heads)
    config.fail("attention_head_size", fmt::format("{} heads have {} channels", heads, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 6144));
  model.set("vocabulary", config.size({"vocab_size"}, 128100));
  const std::int64_t distances = distances_of(config);
  const std::int64_t buckets = config.integer({"position_buckets"}, -1, -1);
  const Terms both = terms_of(config);
  const std::int64_t terms = both.keys + both.queries;
  const bool has_own = !config.boolean("share_att_key", false);
  model.set("relative", 2 * (buckets > 0 ? buckets : distances));
  model.set("terms", terms);
  model.set("matrices", has_own ? terms : 0);
  model.set("matrix_biases", has_own ? terms : 0);
  const std::string norm = config.text({"norm_rel_ebd"}, "none");
  model.set_flag("table_norm", norm.find("layer_norm") != std::string::npos);
  const std::int64_t kernel = config.integer({"conv_kernel_size"}, 0, 0);
  if (kernel > 0) {
    if (kernel % 2 == 0) config.fail("conv_kernel_size", "a convolution over an even number of tokens shortens the sample");
    model.set("kernel", kernel);
    model.set("convolution_groups", config.integer({"conv_groups"}, 1));
    model.set("convolution_activation", config.activation({"conv_act"}, "tanh"));
  }
  for (const std::string_view key : {"conv_groups", "conv_act"}) config.accept(key);
  return read_deberta_parts(config, "DebertaV2", hidden, std::move(model));
}

}  // namespace ddl
