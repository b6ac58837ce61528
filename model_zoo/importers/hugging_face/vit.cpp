#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of ViTConfig. A model without a classifier has a pooler, like ViTModel.
FamilyModel read_vit(HuggingFaceConfig& config) {
  FamilyModel model{.family = "vit"};
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  const std::int64_t size = config.size({"image_size"}, 224);
  const std::int64_t patch = config.size({"patch_size"}, 16);
  if (size % patch != 0) {
    config.fail(config.has("patch_size") ? "patch_size" : "image_size",
                fmt::format("patches of {} do not divide an image of {}", patch, size));
  }
  model.input = fmt::format("{{channels: {}, size: {}x{}}}", config.size({"num_channels"}, 3), size, size);
  model.set("size", size);
  model.set("patch", patch);
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set_flag("qkv_bias", config.boolean("qkv_bias", true));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"hidden_dropout_prob"}, 0));
  model.set_number("attention_dropout", config.fraction({"attention_probs_dropout_prob"}, 0));
  model.set("head", config.head_with("ViT", {{"ForImageClassification", "classifier"}, {"Model", "none"}}));
  model.set("classes", config.labels());
  return model;
}

}  // namespace ddl
