#include <nlohmann/json.hpp>

#include "cli/report/fields.hpp"
#include "cli/report/formats/format.hpp"
#include "cli/report/formats/whole_bytes.hpp"

namespace ddl {

std::string json_format(const Report& report, const Style& /*style*/) {
  Json json = json_head();
  json.update(report.json());
  // JSON must be UTF-8, so invalid bytes, for example in a path, are replaced.
  return with_whole_bytes(json).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ddl
