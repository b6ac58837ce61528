#pragma once

#include "core/yaml_node.hpp"

namespace ddl {

/// Checks that the key `format` of a file is 1; an Error placed there otherwise.
void check_format(const YamlNode& root);

}  // namespace ddl
