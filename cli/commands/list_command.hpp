#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"

namespace ddl {

/// A table, whose rows are a list under `key` in JSON.
[[nodiscard]] Report list_report(const std::string& key, Table table, const nlohmann::ordered_json& rows);

/// Adds `list` to a command such as `models`, whose files `option` takes. `shown`: an example of `show`.
void add_list(const Command& command, Request& request, const std::string& name, std::string_view noun,
              const std::string& option, Report (*list)(), const std::string& shown);

}  // namespace ddl
