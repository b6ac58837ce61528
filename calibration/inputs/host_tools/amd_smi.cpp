#include "calibration/inputs/host_tools/tools.hpp"

namespace ddl {

/// The table of amd-smi, or the records of amd-smi static.
std::optional<DetectedGpus> gpus_of_amd_smi(const ToolLines& lines) {
  if (auto gpus = gpus_of_table(lines, "amd-smi", "AMD-SMI "); gpus && gpus->maker == "AMD") return gpus;
  return counted_gpus(keyed_lines(lines, "MARKET_NAME:", "SIZE:"), "AMD", "amd-smi");
}

}  // namespace ddl
