#include "calibration/files/file_names.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {

std::vector<std::string> names_of(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) names.emplace_back(file.name);
  return names;
}

const EmbeddedFile& find_bundled(std::span<const EmbeddedFile> files, const std::string& name, std::string_view kind,
                                 std::string_view extension) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [key = name_key(name)](const EmbeddedFile& file) { return name_key(file.name) == key; });
  if (found != files.end()) return *found;
  const std::string hint = suggest(name, names_of(files));
  throw Error(fmt::format("unknown {} {}", kind, quote(name)),
              fmt::format("{}{} file of your own ends in '.{}'", hint, hint.ends_with('?') ? " A" : "; a", extension));
}

}  // namespace ddl
