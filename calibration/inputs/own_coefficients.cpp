#include "calibration/inputs/own_coefficients.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view coefficients_key = "coefficients";

bool is_regular(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown);
}

/// Turns a name into a path, so that it is not read as the name of bundled coefficients.
std::string as_path(const fs::path& path) {
  const std::string text = path.lexically_normal().string();
  return is_path(text) ? text : "./" + text;
}

}  // namespace

void check_own_coefficients(const YamlNode& machine_root) {
  const auto named = machine_root.find(coefficients_key);
  if (!named) return;
  const std::string name = named->name();
  if (name == "none") return;
  if (!is_path(name)) {
    named->fail(fmt::format("{} is not the path of a coefficients file", quote(name)),
                "a path has a '/' or ends in '.yaml' or '.yml'; write none for no coefficients");
  }
  if (!is_regular(machine_root.origin())) {
    named->fail("a path is relative to the folder of the machine file, but this machine has no file",
                "leave the key out, and use --coefficients");
  }
}

bool wants_no_coefficients(const std::string& machine) {
  if (!is_path(machine) || !is_regular(machine)) return false;
  const auto named = YamlNode::load(machine).find(coefficients_key);
  return named && named->name() == "none";
}

std::optional<OwnCoefficients> own_coefficients(const std::string& machine) {
  if (!is_path(machine) || !is_regular(machine)) return std::nullopt;
  const fs::path file(machine);
  if (const auto named = YamlNode::load(machine).find(coefficients_key)) {
    const std::string name = named->name();
    if (name == "none") return std::nullopt;
    const std::string path = as_path(file.parent_path() / name);
    std::error_code unknown;
    if (!fs::exists(path, unknown)) {
      named->fail(fmt::format("there is no file {}", quote_path(path)), "a path is relative to the folder of this file");
    }
    return OwnCoefficients{path, true};
  }
  const std::string extension = file.extension() == ".yml" ? ".yml" : ".yaml";
  fs::path next_to_machine = file;
  next_to_machine.replace_extension(".coefficients" + extension);
  if (!is_regular(next_to_machine)) return std::nullopt;
  return OwnCoefficients{as_path(next_to_machine), false};
}

}  // namespace ddl
