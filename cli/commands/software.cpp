#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/setting_values.hpp"
#include "calibration/inputs/software_file.hpp"
#include "cli/commands/list_command.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"

namespace ddl {
namespace {

std::string value_of(const SoftwareFile& software, std::string_view key) {
  for (const SoftwareFile::Line& line : software.lines) {
    if (line.key == key) return line.value;
  }
  return "";
}

Json software_json(const SoftwareFile& software) {
  Json json{{"name", software.name}, {"description", software.description}};
  for (const SoftwareFile::Line& line : software.lines) json[line.key] = line.value;
  return json;
}

Report list_software() {
  std::vector<SoftwareFile> all;
  for (const std::string& name : software_names()) all.push_back(load_software(name));
  Table table({words("software"), figures("launch overhead"), words("images"), words("mixed precision"), words("variants")},
              0);
  for (const SoftwareFile& each : all) {
    if (!each.framework.empty()) continue;
    std::vector<std::string> variants;
    for (const SoftwareFile& other : all) {
      if (other.framework == each.name) variants.push_back(other.name);
    }
    table.add({each.name, value_of(each, "launch_overhead"), value_of(each, "memory_format"),
               value_of(each, "mixed_precision"), fmt::format("{}", fmt::join(variants, " "))});
  }
  return list_report("software", std::move(table), json_list(all, software_json));
}

Report show_software(const std::string& name) {
  const SoftwareFile software = load_software(name);
  Report report;
  report.document.paragraph(software.name + ": " + software.description, 0, 2);
  Table table({essential(words("key")), essential(words("value")), essential(prose("source"))}, 0);
  Json rows = Json::array();
  for (const SoftwareFile::Line& line : software.lines) {
    table.add({line.key, line.value, line.source});
    rows.push_back({{"key", line.key}, {"value", line.value}, {"source", line.source}});
  }
  report.document.apart(std::move(table));
  report.rows = [rows] { return rows; };
  report.json = [software, rows] {
    return Json{{"schema", 1}, {"name", software.name}, {"description", software.description}, {"facts", rows}};
  };
  return report;
}

/// Returns the possible values of a setting as text: `yes, no`, all names, or a range.
std::string values_text(const SettingRow& row) {
  switch (row.kind) {
    case SettingKind::flag:
      return "yes, no";
    case SettingKind::name:
      return fmt::format("{}", fmt::join(row.names, ", "));
    default:
      return fmt::format("{} to {}", print_setting(row, row.least),
                         row.most > 0 ? print_setting(row, row.most) : std::string("any"));
  }
}

/// Returns the types of files that may contain the setting, in addition to tables of runs, jobs and
/// options, which may contain every setting.
std::string sayers_text(const SettingRow& row) {
  if (row.by_software && row.by_coefficients) return "software, coefficients";
  if (row.by_software) return "software";
  return row.by_coefficients ? "coefficients" : "";
}

Report list_keys() {
  Table table({essential(words("key")), essential(words("values")), words("files"), essential(prose("meaning"))}, 0);
  Json rows = Json::array();
  for (const SettingRow& row : setting_rows()) {
    table.add({std::string(row.key), values_text(row), sayers_text(row), std::string(row.help)});
    rows.push_back({{"key", row.key}, {"values", values_text(row)}, {"files", sayers_text(row)}, {"meaning", row.help}});
  }
  return list_report("keys", std::move(table), rows);
}

}  // namespace

void add_software(const Command& program, Request& request) {
  const Command command = program.add_subcommand("software", "list bundled software, show one, or list all settings");
  command.require_subcommand();
  command.examples({{"ddl-oracle software list", "the bundled software"},
                    {"ddl-oracle software show pytorch", "settings of one software, with their sources"},
                    {"ddl-oracle software list --format csv", "all software and variants as CSV, for programs"}});
  add_list(command, request, "software", "software", "--software", list_software, "pytorch");
  const Command keys = command.add_subcommand(
      "keys", "list the settings that software files, tables of runs, jobs and --setting can contain");
  keys.examples({{"ddl-oracle software keys", "all keys, their values and meaning"},
                 {"ddl-oracle software keys --wide", "all keys, and which files may contain each key"},
                 {"ddl-oracle software keys --format csv", "all keys as CSV, for programs"}});
  add_report_options(keys, request.report);
  request.on_choice(keys, [] { return list_keys().then({"ddl-oracle", "software", "show", "pytorch"}); });
  const Command shows = command.add_subcommand("show", "the settings of a software, with their sources");
  const auto name = std::make_shared<std::string>();
  shows.add_option("software", *name, "bundled software or file").required().names_or_file(software_names);
  shows.examples({{"ddl-oracle software show pytorch", "settings of plain PyTorch"},
                  {"ddl-oracle software show megatron", "settings of Megatron-LM"},
                  {"ddl-oracle software show pytorch --format json", "the settings as JSON, for programs"}});
  add_report_options(shows, request.report);
  request.on_choice(shows, [name] {
    return show_software(*name).then({"ddl-oracle", "recommend", "llama3-8b", "--software", *name, "--gpus", "8"});
  });
}

}  // namespace ddl
