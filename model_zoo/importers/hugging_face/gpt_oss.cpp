#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of GptOssConfig: every second layer has a window. The library's scaled_dot_product_attention does
// not support sinks, so the library runs eager attention unless the file names another implementation.
FamilyModel read_gpt_oss(HuggingFaceConfig& config) {
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 36);
  FamilyModel model = read_decoder(config, "gpt-oss",
                                   {.vocabulary = 201088,
                                    .hidden = 2880,
                                    .feed_forward = 2880,
                                    .layers = 36,
                                    .heads = 64,
                                    .kv_heads = 8,
                                    .tokens = 131072,
                                    .head_size = 64,
                                    .attention = "eager"},
                                   "GptOss");
  const auto [experts, active] = config.experts({"num_local_experts"}, 128, {"num_experts_per_tok"}, 4);
  model.set("experts", experts);
  model.set("active", active);
  model.set("window", config.integer({"sliding_window"}, 128));
  model.set("windows", config.windows(layers, 1));
  model.set_flag("attention_bias", config.boolean("attention_bias", true));
  return model;
}

}  // namespace ddl
