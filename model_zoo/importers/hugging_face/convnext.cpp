#include <string>
#include <vector>

#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {
namespace {

// The defaults are those of ConvNextConfig and ConvNextV2Config.
FamilyModel read_convnext_type(HuggingFaceConfig& config, std::string_view classes, std::int64_t version) {
  constexpr std::size_t stages = 4;
  FamilyModel model{.family = "convnext"};
  static_cast<void>(config.head_with(classes, {{"ForImageClassification", "classifier"}}));
  const std::vector<std::int64_t> widths =
      config.numbers("hidden_sizes", 1).value_or(std::vector<std::int64_t>{96, 192, 384, 768});
  const std::vector<std::int64_t> depths = config.numbers("depths", 1).value_or(std::vector<std::int64_t>{3, 3, 9, 3});
  if (depths.size() != stages)
    config.fail("depths", fmt::format("{} stages", depths.size()), "the bundled models have four");
  bool has_widths = widths.size() == stages;
  for (std::size_t i = 1; has_widths && i < stages; ++i) has_widths = widths[i] == 2 * widths[i - 1];
  if (!has_widths)
    config.fail("hidden_sizes", "the bundled models have four stages, each with twice the channels of the previous one");
  model.set("width", widths.front());
  for (std::size_t i = 0; i < stages; ++i) {
    constexpr std::string_view names[stages] = {"units1", "units2", "units3", "units4"};
    model.set(names[i], depths[i]);
  }
  model.set_number("skipped", config.fraction({"drop_path_rate"}, 0));
  model.set("version", version);
  model.set("classes", config.labels());
  constexpr std::int64_t usual_channels = 3, usual_size = 224;
  const std::int64_t channels = config.size({"num_channels"}, usual_channels);
  const std::int64_t size = config.size({"image_size"}, usual_size);
  if (channels != usual_channels || size != usual_size)
    model.input = fmt::format("{{channels: {}, size: {}x{}}}", channels, size, size);
  config.require_number("patch_size", 4, "the bundled models have patches of 4 by 4 pixels");
  config.require_number("num_stages", static_cast<double>(stages), "the bundled models have four stages");
  if (config.activation({"hidden_act"}, "gelu") != "gelu")
    config.fail("hidden_act", "units of the bundled models have gelu");
  for (const std::string_view key : {"layer_scale_init_value", "stage_names", "out_features", "out_indices"})
    config.accept(key);
  return model;
}

}  // namespace

FamilyModel read_convnext(HuggingFaceConfig& config) { return read_convnext_type(config, "ConvNext", 1); }
FamilyModel read_convnextv2(HuggingFaceConfig& config) { return read_convnext_type(config, "ConvNextV2", 2); }

}  // namespace ddl
