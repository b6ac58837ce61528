#include <algorithm>

#include "core/error.hpp"
#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// What the configurations of the family leave out.
struct Defaults {
  std::int64_t vocabulary, feed_forward, kv_heads, tokens;  ///< kv_heads 0: as many as heads
};

std::int64_t kv_heads_of(HuggingFaceConfig& config, std::int64_t heads, std::int64_t fallback) {
  // null stands for as many as there are heads, whatever the default.
  const bool as_many = fallback == 0 || config.is_null("num_key_value_heads");
  const std::int64_t kv_heads = config.integer({"num_key_value_heads"}, as_many ? heads : fallback);
  if (heads % kv_heads != 0) {
    config.fail("num_key_value_heads", fmt::format("{} heads do not divide among {} key and value heads", heads, kv_heads));
  }
  return kv_heads;
}

/// All but what only one of the configurations has.
FamilyModel read_common(HuggingFaceConfig& config, const Defaults& defaults,
                        HuggingFaceConfig::Architectures architectures) {
  FamilyModel model{.family = "llama"};
  const std::int64_t hidden = config.size({"hidden_size"}, 4096);
  const bool own_head_size = config.has("head_dim") && !config.is_null("head_dim");
  const std::int64_t heads =
      own_head_size ? config.size({"num_attention_heads"}, 32) : config.heads({"num_attention_heads"}, 32, hidden);
  const std::int64_t head_size = config.integer({"head_dim"}, own_head_size ? 1 : hidden / heads);
  if (head_size % 2 != 0) {
    config.fail(own_head_size ? "head_dim" : "num_attention_heads",
                fmt::format("heads of {} channels cannot be turned in pairs", head_size));
  }
  model.set("layers", config.layers({"num_hidden_layers"}, 32));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", kv_heads_of(config, heads, defaults.kv_heads));
  model.set("head_size", head_size);
  model.set("feed_forward", config.size({"intermediate_size"}, defaults.feed_forward));
  model.set("vocabulary", config.size({"vocab_size"}, defaults.vocabulary));
  model.set("tokens", config.tokens({"max_position_embeddings"}, defaults.tokens));
  model.set("activation", config.activation({"hidden_act"}, "silu"));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  model.set("head", config.head(architectures));
  model.set_flag("tied", config.boolean("tie_word_embeddings", false));
  model.set("labels", config.labels());
  return model;
}

}  // namespace

// Defaults of LlamaConfig.
FamilyModel read_llama(HuggingFaceConfig& config) {
  FamilyModel model = read_common(config, {.vocabulary = 32000, .feed_forward = 11008, .kv_heads = 0, .tokens = 2048},
                                  {{"LlamaForCausalLM", "language_model"},
                                   {"LLaMAForCausalLM", "language_model"},
                                   {"LlamaModel", "none"},
                                   {"LlamaForSequenceClassification", "classifier"}});
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  model.set_flag("feed_forward_bias", config.boolean("mlp_bias", false));
  return model;
}

// Defaults of MistralConfig: each token sees a window, unless it is null.
FamilyModel read_mistral(HuggingFaceConfig& config) {
  FamilyModel model = read_common(config, {.vocabulary = 32000, .feed_forward = 14336, .kv_heads = 8, .tokens = 131072},
                                  {{"MistralForCausalLM", "language_model"},
                                   {"MistralModel", "none"},
                                   {"MistralForSequenceClassification", "classifier"}});
  model.set("window", config.integer({"sliding_window"}, config.is_null("sliding_window") ? 0 : 4096));
  return model;
}

// Defaults of MixtralConfig.
FamilyModel read_mixtral(HuggingFaceConfig& config) {
  FamilyModel model = read_common(config, {.vocabulary = 32000, .feed_forward = 14336, .kv_heads = 8, .tokens = 131072},
                                  {{"MixtralForCausalLM", "language_model"},
                                   {"MixtralModel", "none"},
                                   {"MixtralForSequenceClassification", "classifier"}});
  model.set("window", config.integer({"sliding_window"}, 0));
  const std::int64_t experts = config.integer({"num_local_experts"}, 8, 2);
  const std::int64_t active = config.integer({"num_experts_per_tok"}, 2);
  if (active > experts)
    config.fail("num_experts_per_tok", fmt::format("of {} experts {} cannot be active", experts, active));
  model.set("experts", experts);
  model.set("active", active);
  return model;
}

// Defaults of Qwen2Config: queries, keys and values have a bias; a window is not used unless the file says so, and then in
// the layers behind the first `max_window_layers`.
FamilyModel read_qwen2(HuggingFaceConfig& config) {
  FamilyModel model = read_common(
      config, {.vocabulary = 151936, .feed_forward = 22016, .kv_heads = 32, .tokens = 32768},
      {{"Qwen2ForCausalLM", "language_model"}, {"Qwen2Model", "none"}, {"Qwen2ForSequenceClassification", "classifier"}});
  model.set_flag("qkv_bias", true);
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 32);
  const std::int64_t whole = config.integer({"max_window_layers"}, 28, 0);
  const bool has_window = !config.is_null("sliding_window");
  const std::int64_t window = config.integer({"sliding_window"}, 4096);
  if (config.boolean("use_sliding_window", false) && has_window && whole < layers) {
    if (whole > 0) {
      config.unknown("max_window_layers",
                     fmt::format("only {} of {} layers have a window: here all have one, or none", layers - whole, layers));
      config.warn("read as if all layers had the window");
    }
    model.set("window", window);
  }
  return model;
}

}  // namespace ddl
