#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Returns the names of the bundled models, sorted.
[[nodiscard]] std::vector<std::string> model_names();
/// Loads a model: a bundled model by name (aliases such as `ResNet50` are accepted), the user's own file if `name` contains
/// a '/' or ends in `.yaml`/`.yml`, or an ONNX file or a `config.json` of Hugging Face (also by its folder), which is
/// imported. Throws Error with "did you mean" for an unknown name.
///
/// `NAME@tokens=128@layers=12` overrides parameters of the model's file or family, and becomes the model's name. A bundled
/// family with all parameters given is also accepted as a name: `gpt@layers=2@hidden=64@heads=2@vocabulary=100@tokens=16`.
/// `@lora=16`, `@lora_layers=qkv+projection` and `@trained=head` select the trained parts, if not everything is trained
/// (TrainedParts). `net.onnx@input=3x640x640` sets the dynamic sizes of an ONNX file.
///
/// `sequence`: the number of tokens of a sample, which sets the parameter `tokens`. Throws Error for a model without this
/// parameter, such as a vision model.
[[nodiscard]] Model load_model(const std::string& name, std::optional<std::int64_t> sequence = {});
/// Parses a model file; `origin` is printed in errors.
[[nodiscard]] Model parse_model(std::string text, std::string origin);

}  // namespace ddl
