#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// Defaults of LlamaConfig.
FamilyModel read_llama(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(
      config, "llama",
      {.vocabulary = 32000, .hidden = 4096, .feed_forward = 11008, .layers = 32, .heads = 32, .kv_heads = 0, .tokens = 2048},
      {{"LlamaForCausalLM", "language_model"},
       {"LLaMAForCausalLM", "language_model"},
       {"LlamaModel", "none"},
       {"LlamaForSequenceClassification", "classifier"}});
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  model.set_flag("feed_forward_bias", config.boolean("mlp_bias", false));
  return model;
}

// Defaults of MistralConfig: each token has a window, unless it is null.
FamilyModel read_mistral(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(config, "llama",
                                   {.vocabulary = 32000,
                                    .hidden = 4096,
                                    .feed_forward = 14336,
                                    .layers = 32,
                                    .heads = 32,
                                    .kv_heads = 8,
                                    .tokens = 131072},
                                   {{"MistralForCausalLM", "language_model"},
                                    {"MistralModel", "none"},
                                    {"MistralForSequenceClassification", "classifier"}});
  model.set("window", config.integer({"sliding_window"}, config.is_null("sliding_window") ? 0 : 4096));
  return model;
}

// Defaults of MixtralConfig.
FamilyModel read_mixtral(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(config, "llama",
                                   {.vocabulary = 32000,
                                    .hidden = 4096,
                                    .feed_forward = 14336,
                                    .layers = 32,
                                    .heads = 32,
                                    .kv_heads = 8,
                                    .tokens = 131072},
                                   {{"MixtralForCausalLM", "language_model"},
                                    {"MixtralModel", "none"},
                                    {"MixtralForSequenceClassification", "classifier"}});
  model.set("window", config.integer({"sliding_window"}, 0));
  const auto [experts, active] = config.experts({"num_local_experts"}, 8, {"num_experts_per_tok"}, 2);
  model.set("experts", experts);
  model.set("active", active);
  return model;
}

// Defaults of Qwen2Config: queries, keys and values have a bias; a window is only used if the file enables it, and then in
// the layers after the first `max_window_layers`.
FamilyModel read_qwen2(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(
      config, "llama",
      {.vocabulary = 151936,
       .hidden = 4096,
       .feed_forward = 22016,
       .layers = 32,
       .heads = 32,
       .kv_heads = 32,
       .tokens = 32768},
      {{"Qwen2ForCausalLM", "language_model"}, {"Qwen2Model", "none"}, {"Qwen2ForSequenceClassification", "classifier"}});
  model.set_flag("qkv_bias", true);
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 32);
  const std::int64_t whole = config.integer({"max_window_layers"}, 28, 0);
  const bool has_window = !config.is_null("sliding_window");
  const std::int64_t window = config.integer({"sliding_window"}, 4096);
  if (config.boolean("use_sliding_window", false) && has_window && whole < layers) {
    if (whole > 0) {
      config.unknown("max_window_layers", fmt::format("only {} of {} layers have a window, but mixtures are not supported",
                                                      layers - whole, layers));
      config.warn("read as if all layers had the window");
    }
    model.set("window", window);
  }
  return model;
}

}  // namespace ddl
