#pragma once

#include "core/yaml_node.hpp"
#include "model_zoo/values/expression.hpp"
#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

/// Reads the shape of one sample in a file: `{channels: 3, size: 224x224}`, `{tokens: 1024}` or `{features: 100}`.
[[nodiscard]] TensorShape read_sample_shape(const YamlNode& node, const Parameters& parameters);

}  // namespace ddl
