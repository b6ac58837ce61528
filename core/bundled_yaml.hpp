#pragma once

#include "core/embedded.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// Returns the parsed content of a bundled file. Each file is parsed once in a run of the program. Safe to call from several
/// threads.
[[nodiscard]] YamlNode bundled_yaml(const EmbeddedFile& file);

}  // namespace ddl
