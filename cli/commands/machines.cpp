#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibration/coefficients_reader.hpp"
#include "calibration/machine_reader.hpp"
#include "cli/commands/commands.hpp"
#include "cli/formats/table.hpp"
#include "cli/options/study_options.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

Report list() {
  auto table = std::make_shared<Table>(std::vector<Table::Column>{
      {"machine", Align::left}, {"devices"}, {"per node"}, {"device", Align::left}, {"memory"}, {"measured", Align::left}});
  auto json = std::make_shared<Json>();
  (*json)["schema"] = 1;
  (*json)["machines"] = Json::array();
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name);
    const std::optional<Coefficients> measured = bundled_coefficients(name);
    table->add({name, with_thousands(machine.devices()), std::to_string(machine.devices_per_node()), machine.device.name,
                humanize(machine.device.memory), measured ? measured->name : "-"});
    (*json)["machines"].push_back({{"name", name},
                                   {"devices", machine.devices()},
                                   {"devices_per_node", machine.devices_per_node()},
                                   {"device", machine.device.name},
                                   {"memory_bytes", machine.device.memory.value()},
                                   {"coefficients", measured ? Json(measured->name) : Json(nullptr)}});
  }
  Report report;
  report.text = [table](const Style&) { return table->text(""); };
  report.json = [json] { return *json; };
  report.csv = [json] { return csv_of(json->at("machines")); };
  return report;
}

Json sheet_json(const MachineSheet& sheet) {
  Json json;
  json["schema"] = 1;
  json["name"] = sheet.machine.name;
  json["description"] = sheet.machine.description;
  json["devices"] = sheet.machine.devices();
  json["devices_per_node"] = sheet.machine.devices_per_node();
  json["numbers"] = Json::array();
  for (const SourcedNumber& number : sheet.numbers) {
    json["numbers"].push_back({{"key", number.key}, {"value", number.value}, {"source", number.source}});
  }
  return json;
}

Report show(const std::string& name) {
  const auto sheet = std::make_shared<MachineSheet>(load_machine_sheet(name));
  auto table =
      std::make_shared<Table>(std::vector<Table::Column>{{"number", Align::left}, {"value"}, {"source", Align::left}});
  for (const SourcedNumber& number : sheet->numbers) table->add({number.key, number.value, number.source});
  Report report;
  report.text = [sheet, table](const Style& style) {
    const std::string& description = sheet->machine.description;
    return style.bold(sheet->machine.name) + (description.empty() ? "" : ": " + wrap_text(description, 118, "  ")) +
           fmt::format("\n{}, {} per node\n\n", count_text(sheet->machine.devices(), "device"),
                       sheet->machine.devices_per_node()) +
           table->text();
  };
  report.json = [sheet] { return sheet_json(*sheet); };
  report.csv = [sheet] { return csv_of(sheet_json(*sheet).at("numbers")); };
  return report;
}

}  // namespace

void add_machines(CLI::App& program, Request& request) {
  CLI::App& command = *program.add_subcommand("machines", "list and show the machines that can be asked about");
  command.require_subcommand(1);
  CLI::App& lists = *command.add_subcommand("list", "bundled machines");
  add_report_options(lists, request.report);
  lists.callback([&request] { request.run = list; });
  CLI::App& shows = *command.add_subcommand("show", "every number of a machine's datasheet, with its source");
  auto name = std::make_shared<std::string>();
  shows.add_option("machine", *name, "bundled machine or machine file")->required();
  add_report_options(shows, request.report);
  shows.callback([name, &request] { request.run = [name] { return show(*name); }; });
}

}  // namespace ddl
