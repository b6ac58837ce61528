#include "profiler/backends/backends.hpp"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

struct Row {
  BackendKind kind;
  BackendStatus status;
};

struct Backends {
  std::vector<Row> rows;
  std::optional<std::string> chosen;  ///< the default back end; empty if there is none
};

Backends find_backends() {
  Backends backends;
  for (const BackendKind& kind : backend_kinds()) backends.rows.push_back({kind, backend_status(kind.name)});
  try {
    backends.chosen = default_backend();
  } catch (const Error&) {
    backends.chosen.reset();  // the row of each back end gives the reason
  }
  return backends;
}

std::string details_of(const DeviceInfo& device) {
  std::string text;
  for (const auto& [key, value] : device.details) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value);
  return text;
}

Document document_of(const Backends& backends) {
  Document document, problems;
  Table table({words("back end"), words("runs"), words("device"), prose("with")}, 0);
  for (const auto& [kind, status] : backends.rows) {
    if (!status.available()) table.add({std::string(kind.name), "no", "-", "-"});
    if (!status.problem.empty()) {
      problems.section();
      problems.add(Line{{{fmt::format("{}: ", kind.name)}, {status.problem}}, 0, 2});
      if (!status.hint.empty()) problems.line("to enable it: " + status.hint, 2);
    }
    for (const DeviceInfo& device : status.devices) {
      table.add({std::string(kind.name), "yes", device.device, details_of(device)});
    }
  }
  document.add(std::move(table));
  document.append(std::move(problems));
  document.section();
  if (backends.chosen) {
    document.add(Line{{{"kernels are measured with "}, {*backends.chosen, true}, {", unless --backend names another"}}});
  } else {
    document.line("no measurement back end is available; --backend simulated is for demos");
  }
  return document;
}

Json json_of(const Backends& backends) {
  Json json{{"schema", 1}, {"default", or_null(backends.chosen)}};
  json["backends"] = Json::array();
  for (const auto& [kind, status] : backends.rows) {
    Json row{{"name", kind.name},
             {"summary", kind.summary},
             {"available", status.available()},
             {"devices", Json::array()},
             {"problem", or_null(status.problem)},
             {"hint", or_null(status.hint)}};
    for (const DeviceInfo& device : status.devices) {
      Json details = Json::object();
      for (const auto& [key, value] : device.details) details[key] = value;
      row["devices"].push_back({{"device", device.device}, {"details", details}});
    }
    json["backends"].push_back(std::move(row));
  }
  return json;
}

/// Returns a row for each device, and a row for each back end that has no device.
Json rows_of(const Backends& backends) {
  Json rows = Json::array();
  const auto add = [&](const Row& row, const std::string& device, const std::string& details) {
    rows.push_back({{"name", row.kind.name},
                    {"available", row.status.available()},
                    {"device", device},
                    {"details", details},
                    {"problem", row.status.problem},
                    {"hint", row.status.hint}});
  };
  for (const Row& row : backends.rows) {
    if (!row.status.available()) add(row, "", "");
    for (const DeviceInfo& device : row.status.devices) add(row, device.device, details_of(device));
  }
  return rows;
}

Report list_backends() {
  const auto backends = std::make_shared<Backends>(find_backends());
  Report report;
  report.document = document_of(*backends);
  report.json = [backends] { return json_of(*backends); };
  report.rows = [backends] { return rows_of(*backends); };
  return report;
}

}  // namespace

void add_backends(const Command& program, Request& request) {
  const Command command =
      program.add_subcommand("backends", "list the available measurement back ends, and why others are unavailable");
  command.examples(
      {{"ddl-oracle backends", "back ends that 'profile' can use on this machine, and why others are unavailable"},
       {"ddl-oracle backends --format json", "back ends as JSON, for programs"},
       {"ddl-oracle backends -o backends.txt", "back ends, written to a file"}});
  add_report_options(command, request.report);
  request.on_choice(command, [] { return list_backends().then({"ddl-oracle", "profile", "resnet50", "--batch", "1"}); });
}

}  // namespace ddl
