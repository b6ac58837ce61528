#pragma once

#include <optional>

#include "calibration/inputs/host_facts.hpp"

namespace ddl {

/// The devices that the host's tool lists: nvidia-smi, rocm-smi, amd-smi, hl-smi or xpu-smi.
[[nodiscard]] std::optional<DetectedGpus> detect_gpus(const HostPlaces& places);
/// The links between the devices; unset if nvidia-smi does not show them.
[[nodiscard]] std::optional<DetectedLinks> detect_links(const HostPlaces& places);

}  // namespace ddl
