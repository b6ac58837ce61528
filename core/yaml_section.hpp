#pragma once

#include <string>
#include <vector>

namespace ddl {

/// A YAML file with `section` in place of the one that `path` names: a key of the file, or a key of the file and one of its
/// map. What is not there yet goes behind the end of the file, or to the top of its map. Everything else stays as it is,
/// comments included; a map in brackets that is extended is written line by line. `section` is the text of its key and
/// value, as YAML::Emitter makes it. Throws Error where `file` is no YAML, or where a map is expected and is none.
[[nodiscard]] std::string replace_section(const std::string& file, const std::vector<std::string>& path,
                                          const std::string& section);

}  // namespace ddl
