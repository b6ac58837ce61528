#include "cli/options/configurations/named_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

/// Maximum number of folders above a file in which the files that it names are searched for.
constexpr int most_folders_above = 6;

constexpr std::array<std::string_view, 4> configuration_endings{".json", ".toml", ".yaml", ".yml"};
constexpr std::array<std::string_view, 9> script_endings{".sh",    ".bash", ".env", ".args", ".sbatch",
                                                         ".slurm", ".job",  ".pbs", ".lsf"};

bool has_ending(const std::string& name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view each) { return name.ends_with(each); });
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Not named is_file: that of cli/report/report.hpp would be called for strings.
bool is_regular(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Returns the named file in a folder above the file `path`; empty if there is none.
std::optional<std::string> file_above(const fs::path& path, const std::string& name) {
  const fs::path named = fs::path(name).lexically_normal();
  if (named.is_absolute() || !named.has_parent_path() || *named.begin() == "..") return std::nullopt;
  fs::path folder = path.parent_path();
  for (int i = 0; i < most_folders_above; ++i) {
    folder /= "..";
    const fs::path candidate = (folder / named).lexically_normal();
    if (is_regular(candidate)) return candidate.string();
  }
  return std::nullopt;
}

/// Returns the file with this relative name next to the file `path`, or in a folder above.
std::optional<std::string> file_near(const fs::path& path, const std::string& name) {
  const fs::path neighbor = (path.parent_path() / name).lexically_normal();
  return is_regular(neighbor) ? neighbor.string() : file_above(path, name);
}

/// Returns the file next to the file `path`, or in a folder above, to which an absolute name in a container leads: there,
/// the folder of a training may be mounted as /workspace.
std::optional<std::string> file_in_container(const fs::path& path, const std::string& name) {
  fs::path rest = fs::path(name).lexically_normal().relative_path();
  while (!rest.empty()) {
    if (std::optional<std::string> found = file_near(path, rest.string())) return found;
    rest = rest.lexically_relative(*rest.begin());
    if (rest == ".") break;
  }
  return std::nullopt;
}

}  // namespace

bool is_file_field(RunField field) {
  return std::ranges::any_of(file_fields, [&](ConfigField each) { return RunField(each) == field; });
}

bool names_a_file(const std::vector<std::string>& keys) {
  return std::ranges::any_of(keys, [](const std::string& key) {
    const ArgumentRow* row = row_named(launcher_rows(), key);
    return row != nullptr && is_file_field(row->field);
  });
}

bool is_of_another_program(const ConfigurationFormat* format, const std::vector<std::string>& programs) {
  return !programs.empty() && format != nullptr && !format->defaults_file.empty() &&
         std::ranges::none_of(programs, [&](const std::string& each) { return is_among(format->programs, each); });
}

std::string first_file_in(const std::string& words) {
  for (std::size_t at = words.find(' '); at != std::string::npos; at = words.find(' ', at + 1)) {
    const std::size_t dot = words.find_last_of("./ ", at - 1);
    // The dot of an ending, such as `.yaml`, not that of a version: v1.0.
    const bool ends_file = at > 0 && dot != std::string::npos && words[dot] == '.' && is_letter(words[dot + 1]);
    if (ends_file) return words.substr(0, at);
  }
  return words;
}

bool is_script_name(const std::string& name) { return has_ending(name, script_endings); }

std::optional<std::string> named_configuration(const std::string& path, const std::string& name) {
  // A `.conf` of this machine may hold anything, so only one that belongs to the configuration is read.
  const bool is_inside = !fs::path(name).is_absolute() && name.find("..") == std::string::npos;
  if (!has_ending(name, configuration_endings) && !(name.ends_with(".conf") && is_inside)) return std::nullopt;
  const fs::path neighbor = fs::path(path).parent_path() / name;
  if (is_regular(neighbor)) return neighbor.lexically_normal().string();
  if (is_regular(name)) return name;
  return fs::path(name).is_absolute() ? file_in_container(path, name) : file_above(path, name);
}

std::optional<std::string> configuration_behind_variable(const std::string& path, const std::string& name) {
  const std::size_t variable = name.rfind('$');
  const std::size_t slash = variable == std::string::npos ? std::string::npos : name.find('/', variable);
  // In ${NAME/a/b}, the slash belongs to the variable.
  if (slash == std::string::npos || name.find_first_of("})", slash) != std::string::npos) return std::nullopt;
  // The author of a script must not choose files outside of the folders around it.
  const bool leaves = name.find("/..", slash) != std::string::npos;
  return has_ending(name, configuration_endings) && !leaves ? file_in_container(path, name.substr(slash)) : std::nullopt;
}

std::optional<SourcedFile> named_script(const std::string& path, const std::string& name) {
  if (!is_script_name(name)) return std::nullopt;
  const std::optional<std::string> found =
      fs::path(name).is_absolute() ? file_in_container(path, name) : file_near(path, name);
  if (!found) return std::nullopt;
  return SourcedFile{.path = *found, .text = read_file(*found, max_configuration_file_bytes)};
}

}  // namespace ddl
