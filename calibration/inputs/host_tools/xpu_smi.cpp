#include "calibration/inputs/host_tools/tools.hpp"

namespace ddl {

/// The table of xpu-smi 2, or the records of xpu-smi discovery.
std::optional<DetectedGpus> gpus_of_xpu_smi(const ToolLines& lines) {
  if (auto gpus = gpus_of_table(lines, "xpu-smi", "Intel XPU-SMI "); gpus && gpus->maker == "Intel") return gpus;
  return counted_gpus(keyed_lines(lines, "Device Name:", ""), "Intel", "xpu-smi");
}

}  // namespace ddl
