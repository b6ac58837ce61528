#include <string>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// The library's defaults of the two encoders of a type, and the properties in which the types differ.
struct TowerDefaults {
  std::string_view classes;  ///< the beginning of the names of the library's classes
  std::string_view pooled;   ///< parameter of the family
  std::int64_t patch, vocabulary, text_hidden, text_feed_forward, text_heads, text_tokens;
  std::string_view activation;
  bool counts_patches = false;  ///< whether the file has a number of patches, in place of the size of an image
  std::string_view trained;     ///< trained numbers of the comparison of images with texts
};
constexpr TowerDefaults clip{.classes = "CLIP",
                             .pooled = "class",
                             .patch = 32,
                             .vocabulary = 49408,
                             .text_hidden = 512,
                             .text_feed_forward = 2048,
                             .text_heads = 8,
                             .text_tokens = 77,
                             .activation = "quick_gelu",
                             .trained = "trained factor"};
constexpr TowerDefaults siglip{.classes = "Siglip",
                               .pooled = "attention",
                               .patch = 16,
                               .vocabulary = 32000,
                               .text_hidden = 768,
                               .text_feed_forward = 3072,
                               .text_heads = 12,
                               .text_tokens = 64,
                               .activation = "gelu_pytorch_tanh",
                               .trained = "trained factor and offset"};
constexpr TowerDefaults siglip2 = [] {
  TowerDefaults naflex = siglip;
  naflex.classes = "Siglip2";
  naflex.counts_patches = true;
  return naflex;
}();

bool is_class(const TowerDefaults& usual) { return usual.pooled == "class"; }

/// Returns the size of the square of pixels that the patches cover. The library does not read pixels beyond the last patch.
std::int64_t covered_size(HuggingFaceConfig& config, const TowerDefaults& usual, std::int64_t patch) {
  if (!usual.counts_patches) {
    const std::int64_t size = config.size({"image_size"}, 224);
    if (size < patch) config.fail("image_size", fmt::format("an image of {} has no patch of {}", size, patch));
    if (size % patch != 0)
      config.warn(fmt::format("the last {} pixels of each row and column have no patch: the size is {}", size % patch,
                              size / patch * patch));
    return size / patch * patch;
  }
  const std::int64_t patches = config.size({"num_patches"}, 256);
  std::int64_t side = 1;
  while (side < 65536 && side * side < patches) ++side;
  if (side * side != patches)
    config.fail("num_patches", fmt::format("{} patches are not a square: the images of the family are squares", patches));
  return side * patch;
}

/// Reads the encoder of images. Returns its number of channels.
std::int64_t read_image_tower(HuggingFaceConfig& config, FamilyModel& model, const TowerDefaults& usual) {
  const std::int64_t hidden = config.size({"hidden_size"}, 768);
  const std::int64_t patch = config.size({"patch_size"}, usual.patch);
  read_channels(config, model);
  model.set("size", covered_size(config, usual, patch));
  model.set("patch", patch);
  model.set("layers", config.layers({"num_hidden_layers"}, 12));
  model.set("hidden", hidden);
  model.set("heads", config.heads({"num_attention_heads"}, 12, hidden));
  model.set("feed_forward", config.size({"intermediate_size"}, 3072));
  model.set("activation", config.activation({"hidden_act"}, usual.activation));
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  for (const std::string_view key : {"dropout", "projection_dim", "projection_size", "use_bfloat16"}) config.accept(key);
  return hidden;
}

/// Reads the encoder of texts. Returns its number of channels.
std::int64_t read_text_tower(HuggingFaceConfig& config, FamilyModel& model, const TowerDefaults& usual) {
  const std::int64_t hidden = config.size({"hidden_size"}, usual.text_hidden);
  model.set("text_tokens", config.size({"max_position_embeddings"}, usual.text_tokens));
  model.set("vocabulary", config.size({"vocab_size"}, usual.vocabulary));
  model.set("text_layers", config.layers({"num_hidden_layers"}, 12));
  model.set("text_hidden", hidden);
  model.set("text_heads", config.heads({"num_attention_heads"}, usual.text_heads, hidden));
  model.set("text_feed_forward", config.size({"intermediate_size"}, usual.text_feed_forward));
  model.set("text_activation", config.activation({"hidden_act"}, usual.activation));
  model.set_number("text_dropout", config.fraction({"attention_dropout"}, 0));
  for (const std::string_view key : {"dropout", "projection_dim"}) config.accept(key);
  if (!is_class(usual)) model.set("joint", config.integer({"projection_size"}, hidden));
  return hidden;
}

FamilyModel read_both(HuggingFaceConfig& config, const TowerDefaults& usual) {
  FamilyModel model{.family = "clip"};
  static_cast<void>(config.head_with(usual.classes, {{"Model", "both"}}));
  // If an older file also has an object `…_config_dict`, the library reads all values from that object.
  const auto object = [&](const std::string& key) {
    const bool is_older = is_class(usual) && config.has_object(key + "_dict");
    for (const std::string& name : {key, key + "_dict"}) config.accept(name);
    return is_older ? key + "_dict" : key;
  };
  config.within(object("vision_config"), [&] {
    static_cast<void>(read_image_tower(config, model, usual));
    if (!is_class(usual)) config.require("vision_use_head", true, "images without a head cannot be compared with texts");
  });
  config.within(object("text_config"), [&] { static_cast<void>(read_text_tower(config, model, usual)); });
  model.set("pooled", usual.pooled);
  if (is_class(usual)) model.set("joint", config.size({"projection_dim"}, 512));
  model.set("fused", config.fused());
  config.accept("logit_scale_init_value");
  config.warn(fmt::format("left out: the similarities of all images and texts of a batch, with their {}", usual.trained));
  return model;
}

/// Reads whether a file's only encoder has the projection for the comparison. `name`: the encoder's part of the class names.
void read_projection(HuggingFaceConfig& config, FamilyModel& model, const TowerDefaults& usual, std::string_view name) {
  const std::string classes = fmt::format("{}{}", usual.classes, name);
  if (!is_class(usual)) {
    static_cast<void>(config.head_with(classes, {{"Model", "no"}}));
    return;
  }
  const std::string projected = config.head_with(classes, {{"Model", "no"}, {"ModelWithProjection", "yes"}});
  model.set("projected", projected);
  if (projected == "yes") model.set("joint", config.size({"projection_dim"}, 512));
}

FamilyModel read_image(HuggingFaceConfig& config, const TowerDefaults& usual) {
  FamilyModel model{.family = "clip"};
  const std::int64_t hidden = read_image_tower(config, model, usual);
  read_projection(config, model, usual, "Vision");
  const bool has_head = is_class(usual) || config.boolean("vision_use_head", true);
  model.set("pooled", has_head ? usual.pooled : "none");
  model.set("towers", "image");
  // These two parameters have no effect, because there is no encoder of texts.
  model.set("text_hidden", hidden);
  model.set("text_heads", std::int64_t{1});
  model.set("fused", config.fused());
  return model;
}

FamilyModel read_text(HuggingFaceConfig& config, const TowerDefaults& usual) {
  FamilyModel model{.family = "clip", .input = "{tokens: $text_tokens}"};
  const std::int64_t hidden = read_text_tower(config, model, usual);
  read_projection(config, model, usual, "Text");
  model.set("pooled", usual.pooled);
  model.set("towers", "text");
  // These four parameters have no effect, because there is no encoder of images.
  model.set("hidden", hidden);
  model.set("heads", std::int64_t{1});
  model.set("layers", std::int64_t{1});
  model.set("patch", usual.patch);
  model.set("fused", config.fused());
  return model;
}

}  // namespace

// The defaults are those of CLIPConfig, SiglipConfig and Siglip2Config, and of the classes of their parts.
FamilyModel read_clip(HuggingFaceConfig& config) { return read_both(config, clip); }
FamilyModel read_clip_text(HuggingFaceConfig& config) { return read_text(config, clip); }
FamilyModel read_clip_vision(HuggingFaceConfig& config) { return read_image(config, clip); }
FamilyModel read_siglip(HuggingFaceConfig& config) { return read_both(config, siglip); }
FamilyModel read_siglip_text(HuggingFaceConfig& config) { return read_text(config, siglip); }
FamilyModel read_siglip_vision(HuggingFaceConfig& config) { return read_image(config, siglip); }
FamilyModel read_siglip2(HuggingFaceConfig& config) { return read_both(config, siglip2); }
FamilyModel read_siglip2_text(HuggingFaceConfig& config) { return read_text(config, siglip2); }
FamilyModel read_siglip2_vision(HuggingFaceConfig& config) { return read_image(config, siglip2); }

}  // namespace ddl
