#include "cli/report/formats/format.hpp"

namespace ddl {

std::string yaml_format(const Report& report, const Style& /*style*/) { return report.yaml(); }

}  // namespace ddl
