#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// Norms of queries and keys; a window only if the file enables it, and then for all layers.
void read_attention(HuggingFaceConfig& config, FamilyModel& model) {
  model.set_flag("query_key_norm", true);
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  const std::int64_t window = config.integer({"sliding_window"}, 4096);
  static_cast<void>(config.integer({"max_window_layers"}, 28, 0));
  config.require_no_windows();
  if (config.boolean("use_sliding_window", false)) {
    config.unknown("use_sliding_window", "windows on a part of the layers are not supported");
    config.warn(fmt::format("read as if no layer had the window of {}", window));
  }
}

}  // namespace

// Defaults of Qwen3Config.
FamilyModel read_qwen3(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(
      config, "llama",
      {.vocabulary = 151936,
       .hidden = 4096,
       .feed_forward = 22016,
       .layers = 32,
       .heads = 32,
       .kv_heads = 32,
       .tokens = 32768,
       .head_size = 128},
      {{"Qwen3ForCausalLM", "language_model"}, {"Qwen3Model", "none"}, {"Qwen3ForSequenceClassification", "classifier"}});
  read_attention(config, model);
  return model;
}

// Defaults of Qwen3MoeConfig. Layers without experts would have MLPs of `intermediate_size`.
FamilyModel read_qwen3_moe(HuggingFaceConfig& config) {
  const std::int64_t width = config.integer({"moe_intermediate_size"}, 768);
  FamilyModel model = read_decoder(config, "llama",
                                   {.vocabulary = 151936,
                                    .hidden = 2048,
                                    .feed_forward = 6144,
                                    .layers = 24,
                                    .heads = 32,
                                    .kv_heads = 4,
                                    .tokens = 32768},
                                   {{"Qwen3MoeForCausalLM", "language_model"},
                                    {"Qwen3MoeModel", "none"},
                                    {"Qwen3MoeForSequenceClassification", "classifier"}});
  for (auto& [name, value] : model.parameters) {
    if (name == "feed_forward") value = fmt::to_string(width);
  }
  read_attention(config, model);
  const auto [experts, active] = config.experts({"num_experts"}, 128, {"num_experts_per_tok"}, 8);
  model.set("experts", experts);
  model.set("active", active);
  config.require_number("decoder_sparse_step", 1, "every layer has experts");
  config.require_empty("mlp_only_layers", "every layer has experts");
  return model;
}

}  // namespace ddl
