#pragma once

#include "core/yaml_node.hpp"

namespace ddl {

/// Throws Error that points to the key `format` of a file, if its value is not 1.
void check_format(const YamlNode& root);

}  // namespace ddl
