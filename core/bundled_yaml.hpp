#pragma once

#include "core/embedded.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// Returns the parsed content of a bundled file. The first call for a file parses the file; later
/// calls return the stored result. Safe to call from several threads.
[[nodiscard]] YamlNode bundled_yaml(const EmbeddedFile& file);

}  // namespace ddl
