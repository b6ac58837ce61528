#pragma once

#include <string>
#include <vector>

namespace ddl {

/// Returns a YAML file in which `section` replaces the section at `path`. The path is a key of the file, which a key of its
/// map may follow. A missing section is appended to the file, or inserted at the top of its map. Everything else is kept,
/// including comments. A map in brackets that is extended is rewritten with one entry per line. `section`: the text of the
/// section's key and value, as YAML::Emitter prints it. Throws Error if `file` is not YAML, or if a value on the path is not
/// a map.
[[nodiscard]] std::string replace_section(const std::string& file, const std::vector<std::string>& path,
                                          const std::string& section);

}  // namespace ddl
