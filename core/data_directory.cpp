#include "core/data_directory.hpp"

#include <cstdlib>

namespace ddl {
namespace {

/// Returns the value of an environment variable; empty if the variable is unset or has no text.
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace

std::optional<std::string> data_directory() {
  if (auto own = variable("DDL_ORACLE_DATA")) return own;
  if (const auto shared = variable("XDG_DATA_HOME"); shared && shared->front() == '/') return *shared + "/ddl-oracle";
  if (const auto home = variable("HOME")) return *home + "/.local/share/ddl-oracle";
  return std::nullopt;
}

}  // namespace ddl
