#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_basis.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/machine_text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

struct ListRequest {
  std::string kind, maker;
};

/// The vendor of a device is the first word of its name.
std::string maker_in(const std::string& device) { return device.substr(0, device.find(' ')); }

struct ListedMachine {
  std::string name;
  SourcedMachine sourced;
};

/// All bundled machines of a kind and a vendor. Throws Error for a vendor of no machine.
std::vector<ListedMachine> listed_machines(const ListRequest& asked) {
  std::optional<MachineKind> kind;
  if (!asked.kind.empty()) kind = chosen<MachineKind>("--kind", asked.kind);
  std::vector<ListedMachine> machines;
  std::vector<std::string_view> makers;
  std::vector<std::string> names;
  bool is_known = asked.maker.empty();
  for (const std::string& name : machine_names()) {
    SourcedMachine sourced = load_sourced_machine(name, KernelTables::left_out);
    const std::string maker = maker_in(sourced.machine.device.name);
    if (!contains(names, maker)) names.push_back(maker);
    const bool is_of_maker = asked.maker.empty() || lower_case(maker) == lower_case(asked.maker);
    is_known |= is_of_maker;
    if (!is_of_maker || (kind && sourced.kind != kind)) continue;
    machines.push_back({name, std::move(sourced)});
  }
  if (!is_known) {
    std::ranges::sort(names);
    makers.assign(names.begin(), names.end());
    unknown_choice("--vendor", asked.maker, makers);
  }
  return machines;
}

std::string heading_of(MachineKind kind, std::size_t count) {
  switch (kind) {
    case MachineKind::cloud:
      return fmt::format("Cloud instances ({})", count);
    case MachineKind::cluster:
      return fmt::format("Clusters and supercomputers ({})", count);
    case MachineKind::server:
      return fmt::format("Servers and racks with their vendor's network ({})", count);
    case MachineKind::workstation:
      break;
  }
  return fmt::format("Single machines with accelerator cards ({})", count);
}

Report list_machines(const ListRequest& asked) {
  const std::vector<ListedMachine> machines = listed_machines(asked);
  Report report;
  Json rows = Json::array();
  // All sections have columns of the same width.
  Table all({essential(words("machine")), figures("devices"), figures("per node"), essential(words("device")),
             essential(figures("memory")), words("kernels"), if_asked(words("network")), if_asked(words("coefficients")),
             if_asked(words("also named"))},
            0);
  for (const MachineKind kind : enum_values<MachineKind>) {
    Table table = all;
    for (const auto& [name, sourced] : machines) {
      if (sourced.kind != kind) continue;
      const Machine& machine = sourced.machine;
      const std::optional<Coefficients> measured = bundled_coefficients(name);
      const MachineBasis basis = basis_of(sourced, measured);
      table.add({name, with_thousands(machine.devices()), std::to_string(machine.devices_per_node()), machine.device.name,
                 humanize(machine.device.memory), std::string(to_string(basis.kernels)),
                 std::string(to_string(basis.network)), measured ? measured->name : "-",
                 fmt::format("{}", fmt::join(sourced.aliases, ", "))});
      rows.push_back({{"name", name},
                      {"kind", to_string(kind)},
                      {"maker", maker_in(machine.device.name)},
                      {"devices", machine.devices()},
                      {"devices_per_node", machine.devices_per_node()},
                      {"device", machine.device.name},
                      {"memory_bytes", machine.device.memory.value()},
                      {"kernels", to_string(basis.kernels)},
                      {"network", to_string(basis.network)},
                      {"coefficients", measured ? Json(measured->name) : Json(nullptr)},
                      {"aliases", fmt::format("{}", fmt::join(sourced.aliases, " "))}});
    }
    if (table.empty()) continue;
    report.document.section(heading_of(kind, table.rows.size()));
    report.document.add(std::move(table));
  }
  if (machines.empty()) report.document.line("no bundled machine is of this kind and this vendor");
  report.rows = [rows] { return rows; };
  report.json = [rows] { return Json{{"schema", 1}, {"machines", rows}}; };
  return report;
}

void add_machines_list(const Command& command, Request& request) {
  const Command lists = command.add_subcommand("list", "bundled machines");
  lists.examples({{"ddl-oracle machines list", "the names that --machine takes"},
                  {"ddl-oracle machines list --vendor amd --kind cloud", "cloud instances with AMD GPUs"},
                  {"ddl-oracle machines list --format json -o machines.json", "the list as JSON, written to a file"}});
  auto asked = std::make_shared<ListRequest>();
  lists.add_option("--kind", asked->kind, "cloud, cluster, server or workstation; default: all").words([] {
    return std::vector<std::string>(enum_names<MachineKind>.begin(), enum_names<MachineKind>.end());
  });
  lists.add_option("--vendor,--maker", asked->maker, "vendor of the devices, such as AMD; default: all");
  add_report_options(lists, request.report);
  request.on_choice(lists, [asked] { return list_machines(*asked).then({"ddl-oracle", "machines", "show", "dgx-h100"}); });
}

Json numbers_json(const SourcedMachine& sourced) {
  Json json;
  json["schema"] = 1;
  json["name"] = sourced.machine.name;
  json["description"] = sourced.machine.description;
  if (!sourced.extends.empty()) json["extends"] = sourced.extends;
  json["devices"] = sourced.machine.devices();
  json["devices_per_node"] = sourced.machine.devices_per_node();
  json["numbers"] = json_list(sourced.numbers, [](const SourcedNumber& number) -> Json {
    return {{"key", number.key}, {"value", number.value}, {"source", number.source}};
  });
  return json;
}

Report show_machine(const std::string& name) {
  const auto sourced = std::make_shared<SourcedMachine>(load_sourced_machine(name));
  const std::string& description = sourced->machine.description;
  Report report;
  Document& document = report.document;
  Line headline{{{sourced->machine.name, true}}};
  if (!description.empty()) headline = {{{sourced->machine.name, true}, {": "}, {description}}, 0, 2};
  document.add(std::move(headline));
  document.line(
      fmt::format("{}, {} per node", count_text(sourced->machine.devices(), "device"), sourced->machine.devices_per_node()));
  if (!sourced->extends.empty()) document.line("extends " + sourced->extends);
  Table table({essential(words("number")), essential(figures("value")), essential(prose("source"))});
  for (const SourcedNumber& number : sourced->numbers) table.add({number.key, number.value, number.source});
  document.apart(std::move(table));
  report.json = [sourced] { return numbers_json(*sourced); };
  report.rows = [sourced] { return numbers_json(*sourced).at("numbers"); };
  report.yaml = [sourced] { return machine_text(*sourced); };
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
  add_machines_list(command, request);
  const Command shows = command.add_subcommand("show", "every number of a machine's datasheet, with its source");
  auto name = std::make_shared<std::string>();
  shows.add_option("machine", *name, "bundled machine or machine file").required().names_or_file(machine_names);
  shows.examples({{"ddl-oracle machines show dgx-a100", "every number with its source"},
                  {"ddl-oracle machines show dgx-a100 --format yaml -o mine.yaml", "a machine file to edit"},
                  {"ddl-oracle machines show alps --format json", "a datasheet as JSON, for programs"}});
  add_report_options(shows, request.report, {Content::rows, Content::yaml});
  request.on_choice(shows, [name] {
    return show_machine(*name).then({"ddl-oracle", "recommend", "llama3-8b", "--machine", *name, "--gpus", "8"});
  });
  add_machines_new(command, request);
}

}  // namespace ddl
