#include <string>
#include <vector>

#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

// The defaults are those of ResNetConfig.
FamilyModel read_resnet(HuggingFaceConfig& config) {
  constexpr std::size_t stages = 4;
  FamilyModel model{.family = "resnet"};
  static_cast<void>(config.head_with("ResNet", {{"ForImageClassification", "classifier"}}));
  const std::string unit = config.text({"layer_type"}, "bottleneck");
  if (unit != "bottleneck" && unit != "basic")
    config.fail("layer_type", fmt::format("layers of the type {} are not known", quote(unit)), "known: basic, bottleneck");
  model.set("unit", unit);
  const std::vector<std::int64_t> depths = config.numbers("depths", 1).value_or(std::vector<std::int64_t>{3, 4, 6, 3});
  if (depths.size() != stages)
    config.fail("depths", fmt::format("{} stages", depths.size()), "the bundled models have four");
  constexpr std::string_view names[stages] = {"stage1", "stage2", "stage3", "stage4"};
  for (std::size_t i = 0; i < stages; ++i) model.set(names[i], depths[i]);
  std::vector<std::int64_t> widths{64, 128, 256, 512};
  if (unit == "bottleneck") {
    for (std::int64_t& width : widths) width *= 4;
  }
  if (const auto read = config.numbers("hidden_sizes", 1); read && *read != widths)
    config.fail("hidden_sizes",
                fmt::format("{} layers of the bundled models have {} channels", unit, fmt::join(widths, ", ")));
  model.set("classes", config.labels());
  constexpr std::int64_t usual_channels = 3;
  if (const std::int64_t channels = config.size({"num_channels"}, usual_channels); channels != usual_channels)
    model.input = fmt::format("{{channels: {}, size: 224x224}}", channels);
  config.require_number("embedding_size", 64, "the first convolution of the bundled models has 64 filters");
  config.require("downsample_in_first_stage", false, "the first stage of the bundled models keeps the size of images");
  config.require("downsample_in_bottleneck", false, "the bundled models have strides in the 3x3 convolutions");
  if (config.activation({"hidden_act"}, "relu") != "relu")
    config.fail("hidden_act", "units of the bundled models have relu");
  for (const std::string_view key : {"stage_names", "out_features", "out_indices"}) config.accept(key);
  return model;
}

}  // namespace ddl
