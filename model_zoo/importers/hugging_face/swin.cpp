#include <string>
#include <vector>

#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

// The defaults are those of SwinConfig and Swinv2Config.
FamilyModel read_swin_type(HuggingFaceConfig& config, std::string_view classes, std::string_view family) {
  using Numbers = std::vector<std::int64_t>;
  FamilyModel model{.family = family};
  static_cast<void>(config.head_with(classes, {{"ForImageClassification", "classifier"}}));
  model.set("hidden", config.size({"embed_dim"}, 96));
  const Numbers heads = config.numbers("num_heads", 1).value_or(Numbers{3, 6, 12, 24});
  if (heads.size() != 4 || heads != Numbers{heads[0], 2 * heads[0], 4 * heads[0], 8 * heads[0]})
    config.fail("num_heads", "the bundled models have four stages, each with twice the heads of the previous one");
  model.set("heads", heads.front());
  const Numbers depths = config.numbers("depths", 1).value_or(Numbers{2, 2, 6, 2});
  if (depths.size() != 4 || depths[2] % 2 != 0 || depths != Numbers{2, 2, depths[2], 2})
    config.fail("depths", "the four stages of the bundled models have 2, 2, an even number, and 2 layers");
  model.set("pairs", depths[2] / 2);

  const std::int64_t window = config.size({"window_size"}, 7);
  const std::int64_t size = config.size({"image_size"}, 224);
  constexpr std::int64_t last_patch = 32;  // pixels per position of the last stage, along one dimension
  const std::int64_t last_side = size / last_patch;
  if (size % last_patch != 0 || last_side == 0 || (last_side % window != 0 && last_side > window))
    config.fail("window_size", fmt::format("windows of {} do not divide an image of {}", window, size));
  if (last_side < window) {
    if (family != "swin_v2") config.fail("window_size", "the last stage is smaller than a window");
    model.set("last_window", last_side);
  }
  model.set("window", window);
  model.set("shift", window / 2);
  model.set_number("skipped", config.fraction({"drop_path_rate"}, 0.1));
  model.set("classes", config.labels());
  model.input = fmt::format("{{channels: {0}, size: {1}x{1}}}", config.size({"num_channels"}, 3), size);

  config.require_number("patch_size", 4, "the bundled models have patches of 4 by 4 pixels");
  config.require_number("mlp_ratio", 4, "the MLPs of the bundled models have four times the channels");
  config.require_number("hidden_dropout_prob", 0, "the bundled models have no dropout of activations");
  config.require_number("attention_probs_dropout_prob", 0, "the bundled models have no dropout of attention");
  config.require("qkv_bias", true, "queries and values of the bundled models have biases");
  config.require("use_absolute_embeddings", false, "the bundled models have no vectors of positions");
  if (config.activation({"hidden_act"}, "gelu") != "gelu")
    config.fail("hidden_act", "units of the bundled models have gelu");
  for (const std::string_view key : {"encoder_stride", "hidden_size", "num_layers", "out_features", "out_indices",
                                     "path_norm", "pretrained_window_sizes", "stage_names"})
    config.accept(key);
  return model;
}

}  // namespace

FamilyModel read_swin(HuggingFaceConfig& config) { return read_swin_type(config, "Swin", "swin"); }
FamilyModel read_swinv2(HuggingFaceConfig& config) { return read_swin_type(config, "Swinv2", "swin_v2"); }

}  // namespace ddl
