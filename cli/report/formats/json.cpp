#include <nlohmann/json.hpp>

#include "cli/report/formats/format.hpp"

namespace ddl {

std::string json_format(const Report& report, const Style& /*style*/) {
  // A path from the command line may be invalid UTF-8, but JSON must be UTF-8.
  return report.json().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ddl
