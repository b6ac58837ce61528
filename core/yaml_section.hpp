#pragma once

#include <string>
#include <vector>

namespace ddl {

/// Returns a YAML file in which `section` replaces the section at `path`, or is added. `path`: a top-level key of the file,
/// optionally followed by a key of that key's map. A missing top-level section is appended to the file; a missing section of
/// a map is inserted at the top of the map. Everything else is kept, including comments. A map in brackets that gets a new
/// section is rewritten with one entry per line. `section`: the text of the section's key and value, as YAML::Emitter prints
/// it. Throws Error if `file` is not YAML, or if a value on the path is not a map.
[[nodiscard]] std::string replace_section(const std::string& file, const std::vector<std::string>& path,
                                          const std::string& section);

}  // namespace ddl
