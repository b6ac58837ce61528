#pragma once

#include "core/yaml_node.hpp"

namespace ddl {

/// Throws Error, placed at the key `format` of a file, if its value is not 1.
void check_format(const YamlNode& root);

}  // namespace ddl
