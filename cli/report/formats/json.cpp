#include <nlohmann/json.hpp>

#include "cli/report/formats/format.hpp"

namespace ddl {

std::string json_format(const Report& report, const Style& /*style*/) {
  // A path given on the command line need not be UTF-8, which JSON is.
  return report.json().dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ddl
