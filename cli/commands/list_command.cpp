#include "cli/commands/list_command.hpp"

#include <utility>

#include <fmt/format.h>

#include "cli/options/study_options.hpp"

namespace ddl {

Report list_report(const std::string& key, Table table, const nlohmann::ordered_json& rows) {
  Report report;
  report.document.add(std::move(table));
  report.rows = [rows] { return rows; };
  report.json = [key, rows] { return nlohmann::ordered_json{{"schema", 1}, {key, rows}}; };
  return report;
}

void add_list(const Command& command, Request& request, const std::string& name, std::string_view noun,
              const std::string& option, Report (*list)(), const std::string& shown) {
  const Command lists = command.add_subcommand("list", fmt::format("bundled {}", noun));
  const std::string line = fmt::format("ddl-oracle {} list", name);
  lists.examples({{line, fmt::format("the names that {} takes", option)},
                  {line + " --format csv", "the list as CSV, for programs"},
                  {fmt::format("{} --format json -o {}.json", line, name), "the list as JSON, written to a file"}});
  add_report_options(lists, request.report);
  request.on_choice(lists, [list, name, shown] { return list().then({"ddl-oracle", name, "show", shown}); });
}

}  // namespace ddl
