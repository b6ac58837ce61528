#include <algorithm>
#include <string>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// Defaults of PhiConfig. The library truncates the fraction of a channel; channels are rotated in pairs.
FamilyModel read_phi(HuggingFaceConfig& config) {
  FamilyModel model{.family = "phi"};
  const std::int64_t hidden = config.size({"hidden_size"}, 2048);
  const std::int64_t heads = config.heads({"num_attention_heads"}, 32, hidden);
  const double share = config.fraction({"partial_rotary_factor"}, 0.5);
  const auto turned = static_cast<std::int64_t>(static_cast<double>(hidden / heads) * share);
  if (turned < 2) config.fail("partial_rotary_factor", fmt::format("of {} channels none is turned", hidden / heads));
  model.set("layers", config.layers({"num_hidden_layers"}, 24));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads_of(config, heads, 0));
  model.set("feed_forward", config.size({"intermediate_size"}, 8192));
  model.set("vocabulary", config.size({"vocab_size"}, 51200));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 2048));
  model.set("turned", turned / 2 * 2);
  model.set("activation", config.activation({"hidden_act"}, "gelu_new"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"resid_pdrop"}, 0));
  model.set_number("embedding_dropout", config.fraction({"embd_pdrop"}, 0));
  model.set_number("attention_dropout", config.fraction({"attention_dropout"}, 0));
  model.set("head", config.head({{"PhiForCausalLM", "language_model"},
                                 {"PhiModel", "none"},
                                 {"PhiForSequenceClassification", "classifier"}}));
  model.set_flag("tied", config.boolean("tie_word_embeddings", false));
  model.set("labels", config.labels());
  config.require("qk_layernorm", false, "queries and keys have no norm");
  return model;
}

// Defaults of Phi3Config.
FamilyModel read_phi3(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(
      config, "llama",
      {.vocabulary = 32064, .hidden = 3072, .feed_forward = 8192, .layers = 32, .heads = 32, .kv_heads = 0, .tokens = 4096},
      {{"Phi3ForCausalLM", "language_model"}, {"Phi3Model", "none"}, {"Phi3ForSequenceClassification", "classifier"}});
  const std::int64_t original = config.integer({"original_max_position_embeddings"}, 0);
  std::int64_t head_size = 0;
  for (auto& [name, value] : model.parameters) {
    if (name == "head_size") head_size = std::stoll(value);
    if (name == "tokens" && original > 0) value = fmt::to_string(std::min<std::int64_t>(std::stoll(value), original));
  }
  const double share = config.fraction({"partial_rotary_factor"}, 1);
  const auto turned = static_cast<std::int64_t>(static_cast<double>(head_size) * share) / 2 * 2;
  if (turned < 2) config.fail("partial_rotary_factor", fmt::format("of {} channels none is turned", head_size));
  model.set("turned", turned);
  model.set("window", config.integer({"sliding_window"}, 0));
  for (const std::string_view key : {"resid_pdrop", "embd_pdrop"}) {
    config.require_number(key, 0, "only attention has a dropout");
  }
  return model;
}

}  // namespace ddl
