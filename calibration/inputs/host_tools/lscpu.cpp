#include "calibration/inputs/host_tools/host_outputs.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {

std::optional<DetectedProcessor> processor_in(const ToolLines& lines) {
  DetectedProcessor found{.name = {}, .from = "lscpu"};
  bool has_sockets = false;
  for (const std::string_view line : lines) {
    if (found.name.empty()) found.name = after_key(line, "Model name");
    const auto sockets = tool_number(after_key(line, "Socket(s)"));
    if (has_sockets || !sockets || *sockets < 1 || *sockets > 1000) continue;
    found.sockets = static_cast<int>(*sockets);
    has_sockets = true;
  }
  return found.name.empty() ? std::nullopt : std::optional(found);
}

}  // namespace ddl
