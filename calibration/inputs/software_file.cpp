#include "calibration/inputs/software_file.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "calibration/files/bundled_files.hpp"
#include "calibration/files/citations.hpp"
#include "calibration/files/file_names.hpp"
#include "calibration/inputs/setting_values.hpp"
#include "core/bundled_yaml.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

/// Maximum length of a chain of files that extend each other.
constexpr int most_software_files = 8;

/// Reads a list of a choice's values by their names, separated by spaces: `0 1`.
void read_admitted(const YamlNode& node, const PlanChoiceRow& row, SoftwareFile& software) {
  std::vector<int> values;
  std::istringstream names(node.text());
  for (std::string name; names >> name;) {
    const std::optional<int> value = row.parse(name);
    if (!value) node.fail(fmt::format("{} is not a valid {}", quote(name), row.noun), suggest(name, row.names()));
    values.push_back(*value);
  }
  if (values.empty()) node.fail(fmt::format("no {} is given", row.noun), "leave the key out if all are possible");
  software.admits[row.choice] = std::move(values);
}
/// Reads `yes` or `no` for a choice that a framework either supports or not.
void read_has(const YamlNode& node, const PlanChoiceRow& row, SoftwareFile& software) {
  std::optional<std::vector<int>>& admits = software.admits[row.choice];
  admits.reset();
  if (!node.boolean()) admits = std::vector<int>{0};
}

/// Whether the framework has pipelines: `yes` or `no`.
constexpr std::string_view pipelines_key = "pipelines";

SoftwareFile read_file_at(const YamlNode& root, int depth);

/// The file that `extends:` names: a bundled name, or a path relative to the folder of the extending file.
SoftwareFile base_of(const YamlNode& node, int depth) {
  const std::string name = node.name();
  if (depth >= most_software_files) node.fail("files extend each other in a circle", "remove 'extends' from one of them");
  if (!is_path(name)) {
    const auto files = software_files();
    const auto same = [&](const EmbeddedFile& file) { return name_key(file.name) == name_key(name); };
    const auto found = std::find_if(files.begin(), files.end(), same);
    if (found == files.end()) node.fail(fmt::format("unknown software {}", quote(name)), suggest(name, software_names()));
    return read_file_at(bundled_yaml(*found), depth + 1);
  }
  const std::filesystem::path path = std::filesystem::path(node.origin()).parent_path() / name;
  return read_file_at(YamlNode::load(path.string()), depth + 1);
}

SoftwareFile read_file_at(const YamlNode& root, int depth) {
  check_format(root);
  std::vector<std::string_view> keys{"format", "software", "framework", "description", "extends", "sources"};
  for (const std::string_view key : setting_keys([](const SettingRow& row) { return row.by_software; })) keys.push_back(key);
  for (const PlanChoiceRow& row : plan_choices()) {
    if (!row.software_key.empty()) keys.push_back(row.software_key);
  }
  keys.push_back(pipelines_key);
  root.only_keys(keys, former_settings());
  const auto extends = root.find("extends");
  SoftwareFile software = extends ? base_of(*extends, depth) : SoftwareFile{};
  software.name = root.at("software").name();
  if (software.name == no_software) root.at("software").fail("'none' means no software", "use another name");
  const auto framework = root.find("framework");
  software.framework = framework ? framework->name() : std::string();
  const std::vector<std::string> known = framework ? software_names() : std::vector<std::string>{};
  if (framework && !contains(known, software.framework))
    framework->fail(fmt::format("unknown framework {}", quote(software.framework)), suggest(software.framework, known));
  software.description = root.at("description").text();
  const auto sources = root.find("sources");
  const Citations citations = sources ? Citations(*sources) : Citations();
  const auto note = [&](std::string_view key, const SourcedNode& entry) {
    auto& lines = software.lines;
    const auto same = [&](const SoftwareFile::Line& line) { return line.key == key; };
    lines.erase(std::remove_if(lines.begin(), lines.end(), same), lines.end());
    lines.push_back({std::string(key), entry.value.text(), entry.source});
  };
  for (const SettingRow& row : setting_rows()) {
    const auto entry = row.by_software ? root.find(row.key, row.former) : std::nullopt;
    if (!entry) continue;
    const SourcedNode sourced = citations.read(*entry);
    software.settings.set(row, {read_setting(row, sourced.value), SettingOrigin::software, sourced.source});
    note(row.key, sourced);
  }
  for (const PlanChoiceRow& row : plan_choices()) {
    const auto entry = row.software_key.empty() ? std::nullopt : root.find(row.software_key);
    if (!entry) continue;
    const SourcedNode sourced = citations.read(*entry);
    (row.is_software_flag ? read_has : read_admitted)(sourced.value, row, software);
    note(row.software_key, sourced);
  }
  if (const auto entry = root.find(pipelines_key)) {
    const SourcedNode sourced = citations.read(*entry);
    software.admits.pipelines = sourced.value.boolean();
    note(pipelines_key, sourced);
  }
  return software;
}

}  // namespace

std::vector<std::string> software_names() { return names_of(software_files()); }

SoftwareFile load_software(const std::string& name_or_path) {
  if (is_path(name_or_path)) return read_file_at(YamlNode::load(name_or_path), 1);
  const EmbeddedFile& file = find_bundled(software_files(), name_or_path, "software", "yaml");
  return read_file_at(bundled_yaml(file), 1);
}

SoftwareFile parse_software(std::string text, std::string origin) {
  return read_file_at(YamlNode::parse(std::move(text), std::move(origin)), 1);
}

}  // namespace ddl
