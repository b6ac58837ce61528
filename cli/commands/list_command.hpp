#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"

namespace ddl {

/// Returns a report that shows a table. In JSON, the rows are a list under `key`.
[[nodiscard]] Report list_report(const std::string& key, Table table, const nlohmann::ordered_json& rows);

/// Adds the command `list` to the command `name`, such as `models`. `option`: the option that takes one of the listed names.
/// `shown`: an example of such a name.
void add_list(const Command& command, Request& request, const std::string& name, std::string_view noun,
              const std::string& option, Report (*list)(), const std::string& shown);

}  // namespace ddl
