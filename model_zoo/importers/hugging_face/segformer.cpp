#include <vector>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

/// Throws Error if a list differs from the one of all published models.
void require_stages(HuggingFaceConfig& config, std::string_view key, const std::vector<std::int64_t>& expected) {
  if (const auto numbers = config.numbers(key, 1); numbers && *numbers != expected)
    config.fail(key, "the stages of the bundled family have other sizes");
}

}  // namespace

// The defaults are those of SegformerConfig, which has no size of images: 512, as in training on ADE20K.
FamilyModel read_segformer(HuggingFaceConfig& config) {
  FamilyModel model{.family = "segformer"};
  static_cast<void>(config.head_with("Segformer", {{"ForSemanticSegmentation", "segmentation"}}));
  const std::vector<std::int64_t> usual{32, 64, 160, 256};
  const std::vector<std::int64_t> widths = config.numbers("hidden_sizes", 1).value_or(usual);
  const std::int64_t width = widths.empty() ? 0 : widths.front();
  if (widths != std::vector<std::int64_t>{width, 2 * width, 5 * width, 8 * width})
    config.fail("hidden_sizes", "the stages of the bundled family have 1, 2, 5 and 8 times the channels of the first");
  const std::vector<std::int64_t> depths = config.numbers("depths", 1).value_or(std::vector<std::int64_t>{2, 2, 2, 2});
  constexpr std::size_t stages = 4;
  if (depths.size() != stages) config.fail("depths", "the bundled family has four stages");
  model.set("size", std::int64_t{512});
  model.set("width", width);
  for (std::size_t i = 0; i < stages; ++i) {
    if (depths[i] > max_repeat) config.fail("depths", fmt::format("a stage has more than {} layers", max_repeat));
    constexpr std::string_view names[] = {"units1", "units2", "units3", "units4"};
    model.set(names[i], depths[i]);
  }
  model.set("decoder", config.size({"decoder_hidden_size"}, 256));
  model.set("classes", config.labels());
  model.set_number("skipped", config.fraction({"drop_path_rate"}, 0.1));
  model.set("fused", config.fused());
  require_stages(config, "sr_ratios", {8, 4, 2, 1});
  require_stages(config, "patch_sizes", {7, 3, 3, 3});
  require_stages(config, "strides", {4, 2, 2, 2});
  require_stages(config, "num_attention_heads", {1, 2, 5, 8});
  require_stages(config, "mlp_ratios", {4, 4, 4, 4});
  config.require_number("num_channels", 3, "images of the bundled family have three channels");
  config.require_number("num_encoder_blocks", 4, "the bundled family has four stages");
  if (config.activation({"hidden_act"}, "gelu") != "gelu") config.fail("hidden_act", "MLPs of the bundled family have gelu");
  for (const std::string_view key : {"hidden_dropout_prob", "attention_probs_dropout_prob"}) {
    if (config.fraction({key}, 0) != 0) config.fail(key, "the layers of the bundled family have no dropout");
  }
  for (const std::string_view key :
       {"classifier_dropout_prob", "semantic_loss_ignore_index", "reshape_last_stage", "image_size", "downsampling_rates"})
    config.accept(key);
  return model;
}

}  // namespace ddl
