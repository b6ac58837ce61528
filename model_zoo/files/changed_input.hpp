#pragma once

#include <optional>

#include "core/yaml_node.hpp"
#include "model_zoo/files/model_file.hpp"

namespace ddl {

/// Gives the input of a vision model other sizes: `resnet50@input=3x448x448`. If the sizes follow from parameters, as in
/// `$height x $width`, these parameters are set. `stated`: the input of the model's file, or of its family. `values`: the
/// parameters that are given with the sizes. Throws Error if the model has no images or volumes as its input, if the sizes
/// do not fit, or if a given parameter sets one of them.
void change_input(ModelFile& file, const std::optional<YamlNode>& stated, const YamlNode& sizes, const YamlNode& values);

}  // namespace ddl
