#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The sizes of Grok-1, from its conversions for the library.
FamilyModel read_grok(HuggingFaceConfig& config) {
  FamilyModel model = read_decoder(config, "grok",
                                   {.vocabulary = 131072,
                                    .hidden = 6144,
                                    .feed_forward = 32768,
                                    .layers = 64,
                                    .heads = 48,
                                    .kv_heads = 8,
                                    .tokens = 8192,
                                    .activation = "gelu",
                                    .tied = true},
                                   "Grok1Model", "Grok1");
  const auto [experts, active] = config.experts({"num_experts"}, 8, {"num_experts_per_tok"}, 2);
  model.set("experts", experts);
  model.set("active", active);
  return model;
}

}  // namespace ddl
