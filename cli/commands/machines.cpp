#include <memory>

#include <fmt/format.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_basis.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/machine_text.hpp"
#include "cli/commands/list_command.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

Report list_machines() {
  Table table({essential(words("machine")), figures("devices"), figures("per node"), essential(words("device")),
               essential(figures("memory")), words("kernels"), words("network"), words("coefficients")},
              0);
  const Json machines = json_list(machine_names(), [&](const std::string& name) -> Json {
    const MachineSheet sheet = load_machine_sheet(name);
    const Machine& machine = sheet.machine;
    const std::optional<Coefficients> measured = bundled_coefficients(name);
    const MachineBasis basis = basis_of(sheet, measured);
    table.add({name, with_thousands(machine.devices()), std::to_string(machine.devices_per_node()), machine.device.name,
               humanize(machine.device.memory), std::string(to_string(basis.kernels)), std::string(to_string(basis.network)),
               measured ? measured->name : "-"});
    return {{"name", name},
            {"devices", machine.devices()},
            {"devices_per_node", machine.devices_per_node()},
            {"device", machine.device.name},
            {"memory_bytes", machine.device.memory.value()},
            {"kernels", to_string(basis.kernels)},
            {"network", to_string(basis.network)},
            {"coefficients", measured ? Json(measured->name) : Json(nullptr)}};
  });
  return list_report("machines", std::move(table), machines);
}

Json sheet_json(const MachineSheet& sheet) {
  Json json;
  json["schema"] = 1;
  json["name"] = sheet.machine.name;
  json["description"] = sheet.machine.description;
  if (!sheet.extends.empty()) json["extends"] = sheet.extends;
  json["devices"] = sheet.machine.devices();
  json["devices_per_node"] = sheet.machine.devices_per_node();
  json["numbers"] = json_list(sheet.numbers, [](const SourcedNumber& number) -> Json {
    return {{"key", number.key}, {"value", number.value}, {"source", number.source}};
  });
  return json;
}

Report show_machine(const std::string& name) {
  const auto sheet = std::make_shared<MachineSheet>(load_machine_sheet(name));
  const std::string& description = sheet->machine.description;
  Report report;
  Document& document = report.document;
  Line headline{{{sheet->machine.name, true}}};
  if (!description.empty()) headline = {{{sheet->machine.name, true}, {": "}, {description}}, 0, 2};
  document.add(std::move(headline));
  document.line(
      fmt::format("{}, {} per node", count_text(sheet->machine.devices(), "device"), sheet->machine.devices_per_node()));
  if (!sheet->extends.empty()) document.line("extends " + sheet->extends);
  Table table({essential(words("number")), essential(figures("value")), essential(prose("source"))});
  for (const SourcedNumber& number : sheet->numbers) table.add({number.key, number.value, number.source});
  document.apart(std::move(table));
  report.json = [sheet] { return sheet_json(*sheet); };
  report.rows = [sheet] { return sheet_json(*sheet).at("numbers"); };
  report.yaml = [sheet] { return machine_text(*sheet); };
  return report;
}

}  // namespace

void add_machines(const Command& program, Request& request) {
  const Command command = program.add_subcommand("machines", "list bundled machines, show one, or write a file");
  command.require_subcommand();
  command.examples(
      {{"ddl-oracle machines list", "the bundled machines"},
       {"ddl-oracle machines show dgx-h100", "one datasheet, with its sources"},
       {"ddl-oracle machines new ours --like dgx-a100 --assume-gpus -o ours.yaml", "a file for your own machine"}});
  add_list(command, request, "machines", "machines", "--machine", list_machines, "dgx-h100");
  const Command shows = command.add_subcommand("show", "every number of a machine's datasheet, with its source");
  auto name = std::make_shared<std::string>();
  shows.add_option("machine", *name, "bundled machine or machine file").required().names_or_file(machine_names);
  shows.examples({{"ddl-oracle machines show dgx-a100", "every number with its source"},
                  {"ddl-oracle machines show dgx-a100 --format yaml -o mine.yaml", "a machine file to edit"},
                  {"ddl-oracle machines show alps --format json", "a datasheet as JSON, for programs"}});
  add_report_options(shows, request.report, {Content::rows, Content::yaml});
  shows.callback([name, &request] {
    request.run = [name] {
      return show_machine(*name).then({"ddl-oracle", "recommend", "llama3-8b", "--machine", *name, "--gpus", "8"});
    };
  });
  add_machines_new(command, request);
}

}  // namespace ddl
