#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {

/// The agents whose type is GPU or, if the output lacks types, whose name is an AMD instruction set such as `gfx942`.
std::optional<DetectedGpus> gpus_of_rocminfo(const ToolLines& lines) {
  GpuList agents("rocminfo");
  std::optional<double> number;
  std::string_view agent;
  bool has_gpu_name = false;
  for (const std::string_view line : lines) {
    if (line.starts_with("Agent ")) {
      number = tool_number(line.substr(6));
      if (number == 1) agents.begin_host();
    }
    if (const std::string_view name = after_key(line, "Name"); !name.empty()) has_gpu_name = name.starts_with("gfx");
    if (line.starts_with("Marketing Name")) {
      agent = after_key(line, "Marketing Name");
      agent = agent.substr(0, agent.find('/'));
      if (has_gpu_name) {
        agents.add(agent, number);
        agent = {};
      }
    }
    if (const std::string_view type = after_key(line, "Device Type"); !type.empty()) {
      if (type == "GPU" && !agent.empty()) agents.add(agent, number);
      agent = {};
    }
  }
  return agents.gpus();
}

}  // namespace ddl
