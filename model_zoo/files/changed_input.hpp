#pragma once

#include <optional>

#include "core/yaml_node.hpp"
#include "model_zoo/files/model_file.hpp"

namespace ddl {

/// Gives the input of a vision model other sizes: `resnet50@input=3x448x448`. If the sizes follow from parameters, as in
/// `$height x $width`, these parameters are set. `stated`: the input of the model's file, or of its family. Throws Error if
/// the model has no images or volumes as its input, or if the sizes do not fit.
void change_input(ModelFile& file, const std::optional<YamlNode>& stated, const YamlNode& sizes);

}  // namespace ddl
