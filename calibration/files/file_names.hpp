#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedded.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

[[nodiscard]] std::vector<std::string> names_of(std::span<const EmbeddedFile> files);
/// The bundled file with this name, in any spelling that name_key allows. Throws Error with "did you mean" if no file has
/// the name. `kind`: the noun for the file in the message.
[[nodiscard]] const EmbeddedFile& find_bundled(std::span<const EmbeddedFile> files, const std::string& name,
                                               std::string_view kind, std::string_view extension);

}  // namespace ddl
