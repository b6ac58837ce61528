#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

std::int64_t kv_heads_of(HuggingFaceConfig& config, std::int64_t heads, std::int64_t fallback) {
  // If the key is null, there are as many key and value heads as query heads, even if the default differs.
  const bool as_many = fallback == 0 || config.is_null("num_key_value_heads");
  const std::int64_t kv_heads = config.integer({"num_key_value_heads"}, as_many ? heads : fallback);
  if (heads % kv_heads != 0) {
    config.fail("num_key_value_heads", fmt::format("{} heads are not divisible by {} key-value heads", heads, kv_heads));
  }
  return kv_heads;
}

FamilyModel read_decoder(HuggingFaceConfig& config, std::string_view family, const DecoderDefaults& defaults,
                         std::string_view classes, std::string_view other_classes) {
  FamilyModel model{.family = family};
  const std::int64_t hidden = config.size({"hidden_size"}, defaults.hidden);
  const bool says_head_size = config.has("head_dim") && !config.is_null("head_dim");
  const bool own_head_size = says_head_size || defaults.head_size > 0;
  const std::int64_t heads = own_head_size ? config.size({"num_attention_heads"}, defaults.heads)
                                           : config.heads({"num_attention_heads"}, defaults.heads, hidden);
  const std::int64_t usual_size = defaults.head_size > 0 ? defaults.head_size : 1;
  const std::int64_t head_size = config.integer({"head_dim"}, own_head_size ? usual_size : hidden / heads);
  if (head_size % 2 != 0) {
    config.fail(says_head_size ? "head_dim" : "num_attention_heads",
                fmt::format("heads of {} channels cannot be rotated in pairs", head_size));
  }
  model.set("layers", config.layers({"num_hidden_layers"}, defaults.layers));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads_of(config, heads, defaults.kv_heads));
  model.set("head_size", head_size);
  model.set("feed_forward", config.size({"intermediate_size"}, defaults.feed_forward));
  model.set("vocabulary", config.size({"vocab_size"}, defaults.vocabulary));
  model.set("tokens", config.tokens({"max_position_embeddings"}, defaults.tokens));
  model.set("activation", config.activation({"hidden_activation", "hidden_act"}, defaults.activation));
  model.set("fused", config.fused(defaults.attention));
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, classes, defaults.tied, other_classes);
  return model;
}

}  // namespace ddl
