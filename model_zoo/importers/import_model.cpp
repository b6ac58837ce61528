#include "model_zoo/importers/import_model.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/files/model_file.hpp"
#include "model_zoo/files/onnx_file.hpp"
#include "model_zoo/importers/hugging_face/hugging_face.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

Import import_configuration(const std::string& path, const ImportOptions& options) {
  return import_hugging_face(read_file(path, max_configuration_bytes), path, options);
}

struct Importer {
  std::string_view ending;
  Import (*run)(const std::string& path, const ImportOptions& options);
};
constexpr Importer importers[] = {
    {".onnx", import_onnx_file},
    {".json", import_configuration},
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Throws Error for a name that is too long, contains special characters, or is `null`, which has a meaning in YAML.
void check_name(const std::string& name) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 && c > 0; };
  const bool fits =
      name.size() <= max_model_name_length && is_letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || c == '-' || c == '_' || c == '.'; });
  if (fits && lower_case(name) != "null") return;
  throw Error(fmt::format("{} is not a valid model name", quote(name)),
              fmt::format("use at most {} of A-Z a-z 0-9 - _ . and begin with a letter or digit", max_model_name_length));
}

}  // namespace

Import import_model(const std::string& path, const ImportOptions& options) {
  if (!options.name.empty()) check_name(options.name);
  const std::string name = lower_case(path);
  std::string endings;
  for (const Importer& importer : importers) {
    if (name.ends_with(importer.ending)) return importer.run(path, options);
    endings += fmt::format("{}{}", endings.empty() ? "" : ", ", importer.ending);
  }
  const bool is_ours = name.ends_with(".yaml") || name.ends_with(".yml");
  throw Error(fmt::format("{} is not a file that can be imported", quote(path)),
              is_ours ? "a model file needs no import: pass its path to --model"
                      : fmt::format("known endings: {}; other frameworks export ONNX", endings));
}

}  // namespace ddl
