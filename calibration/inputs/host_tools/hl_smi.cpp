#include "calibration/inputs/host_tools/tools.hpp"

namespace ddl {

std::optional<DetectedGpus> gpus_of_hl_smi(const ToolLines& lines) {
  auto gpus = gpus_of_table(lines, "hl-smi", "HL-SMI ");
  return gpus && gpus->maker == "Habana" ? gpus : std::nullopt;
}

}  // namespace ddl
