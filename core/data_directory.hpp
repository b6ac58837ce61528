#pragma once

#include <optional>
#include <string>

namespace ddl {

/// Returns the folder of the user's own measurements: $DDL_ORACLE_DATA, else $XDG_DATA_HOME/ddl-oracle, else
/// $HOME/.local/share/ddl-oracle [XDG Base Directory Specification 0.8: a relative XDG_DATA_HOME does not count]. Empty if
/// none of these three variables is set. The folder may not exist.
[[nodiscard]] std::optional<std::string> data_directory();

}  // namespace ddl
