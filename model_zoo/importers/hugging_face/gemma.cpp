#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

constexpr std::string_view gelu = "gelu_pytorch_tanh";

/// Returns whether scores are capped: a positive number is a cap, and null means no cap.
bool has_cap(HuggingFaceConfig& config, std::string_view key, bool fallback) {
  return config.is_null(key) ? false : config.positive(key).value_or(fallback);
}

/// Reads layers with a window, norms after each part, and caps, as in Gemma 2 and Gemma 3.
void read_windows(HuggingFaceConfig& config, FamilyModel& model, std::int64_t layers, std::int64_t windows) {
  model.set("window", config.integer({"sliding_window"}, 4096));
  model.set("windows", config.windows(layers, windows));
  model.set_flag("post_norms", true);
}

}  // namespace

// Defaults of GemmaConfig.
FamilyModel read_gemma(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(config, "gemma",
                                   {.vocabulary = 256000,
                                    .hidden = 3072,
                                    .feed_forward = 24576,
                                    .layers = 28,
                                    .heads = 16,
                                    .kv_heads = 16,
                                    .tokens = 8192,
                                    .head_size = 256,
                                    .activation = gelu,
                                    .tied = true},
                                   "Gemma");
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  return model;
}

// The defaults are those of Gemma2Config: every second layer has a window. The library runs eager
// attention, because scaled_dot_product_attention does not support caps.
FamilyModel read_gemma2(HuggingFaceConfig& config) {
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 26);
  FamilyModel model = read_decoder(config, "gemma",
                                   {.vocabulary = 256000,
                                    .hidden = 2304,
                                    .feed_forward = 9216,
                                    .layers = 26,
                                    .heads = 8,
                                    .kv_heads = 4,
                                    .tokens = 8192,
                                    .head_size = 256,
                                    .activation = gelu,
                                    .attention = "eager",
                                    .tied = true},
                                   "Gemma2");
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  read_windows(config, model, layers, 1);
  model.set_flag("soft_cap", has_cap(config, "attn_logit_softcapping", true));
  model.set_flag("output_cap", has_cap(config, "final_logit_softcapping", true));
  return model;
}

// The defaults are those of Gemma3TextConfig: five of six layers have a window.
FamilyModel read_gemma3(HuggingFaceConfig& config) {
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 26);
  FamilyModel model = read_decoder(config, "gemma",
                                   {.vocabulary = 262208,
                                    .hidden = 2304,
                                    .feed_forward = 9216,
                                    .layers = 26,
                                    .heads = 8,
                                    .kv_heads = 4,
                                    .tokens = 131072,
                                    .head_size = 256,
                                    .activation = gelu,
                                    .tied = true},
                                   "Gemma3");
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  read_windows(config, model, layers, config.integer({"sliding_window_pattern", "_sliding_window_pattern"}, 6) - 1);
  model.set_flag("query_key_norm", true);
  model.set_flag("soft_cap", has_cap(config, "attn_logit_softcapping", false));
  model.set_flag("output_cap", has_cap(config, "final_logit_softcapping", false));
  return model;
}

}  // namespace ddl
