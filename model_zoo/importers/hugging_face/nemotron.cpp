#include <string>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// Defaults of NemotronConfig.
FamilyModel read_nemotron(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(config, "nemotron",
                                   {.vocabulary = 256000,
                                    .hidden = 6144,
                                    .feed_forward = 24576,
                                    .layers = 32,
                                    .heads = 48,
                                    .kv_heads = 0,
                                    .tokens = 4096,
                                    .activation = "relu2"},
                                   "Nemotron");
  std::int64_t head_size = 0;
  for (const auto& [name, value] : model.parameters) {
    if (name == "head_size") head_size = std::stoll(value);
  }
  model.set("turned", config.turned({"partial_rotary_factor", "rope_percent", "rope_percentage"}, 0.5, head_size));
  model.set_flag("attention_bias", config.boolean("attention_bias", false));
  model.set_flag("feed_forward_bias", config.boolean("mlp_bias", false));
  return model;
}

}  // namespace ddl
