#include <array>
#include <string>

#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {

/// `17:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)`: the name is in the last brackets.
std::optional<DetectedGpus> gpus_of_lspci(const ToolLines& lines) {
  constexpr std::array<std::string_view, 4> classes{"3D controller", "VGA compatible controller", "Display controller",
                                                    "Processing accelerators"};
  constexpr std::array<std::string_view, 3> makers{"NVIDIA ", "AMD ", "Intel "};
  GpuList list("lspci");
  for (const std::string_view line : lines) {
    const std::size_t gap = line.find(' ');
    const std::size_t dot = line.substr(0, gap).find('.');
    if (gap == std::string_view::npos || dot == std::string_view::npos || line.substr(0, gap).find(':') > dot) continue;
    for (const std::string_view each : classes) {
      if (!line.substr(gap + 1).starts_with(each)) continue;
      std::string_view device = line.substr(gap + 1 + each.size());
      const std::size_t end = device.rfind("] (rev");
      device = device.substr(0, end == std::string_view::npos ? device.rfind(']') : end);
      const std::size_t open = device.rfind('[');
      if (open == std::string_view::npos) continue;
      const bool is_amd = device.find("[AMD/ATI]") != std::string_view::npos;
      const bool is_intel = device.find("Intel Corporation") != std::string_view::npos;
      const bool is_nvidia = device.find("NVIDIA Corporation") != std::string_view::npos;
      if (!is_amd && !is_intel && !is_nvidia) continue;
      list.add_address(line.substr(0, gap));
      list.add(std::string(makers[is_nvidia ? 0 : is_amd ? 1 : 2]) + std::string(device.substr(open + 1)), std::nullopt);
    }
  }
  return list.gpus();
}

}  // namespace ddl
