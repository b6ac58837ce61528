#pragma once

#include <optional>

#include "core/yaml_node.hpp"
#include "model_zoo/files/model_file.hpp"

namespace ddl {

/// Changes the sizes of a vision model's input: `resnet50@input=3x448x448`. If the sizes follow from parameters, as in
/// `$height x $width`, these parameters are set. `stated`: the input of the model's file, or of its family. `values`: the
/// other parameters that the user sets. Throws Error if the model has no images or volumes as its input, if the sizes do not
/// fit, or if one of `values` already sets a size.
void change_input(ModelFile& file, const std::optional<YamlNode>& stated, const YamlNode& sizes, const YamlNode& values);

}  // namespace ddl
