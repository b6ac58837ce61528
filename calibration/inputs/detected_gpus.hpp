#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/inputs/host_facts.hpp"

namespace ddl {

/// Devices one by one: name and memory in MiB.
using ListedGpus = std::vector<std::pair<std::string, std::optional<std::int64_t>>>;

/// The most frequent device, and a description of the others; empty for an empty list.
[[nodiscard]] std::optional<DetectedGpus> counted_gpus(const ListedGpus& listed, std::string maker, std::string tool);
/// The devices in a saved output of `amd-smi static` or `xpu-smi discovery`.
[[nodiscard]] std::optional<DetectedGpus> gpus_of_outputs(std::string_view text);
/// The links in outputs of `nvidia-smi topo -m` and, for the rate of a link, `nvidia-smi nvlink -s`.
[[nodiscard]] std::optional<DetectedLinks> links_in(std::string_view topology, std::string_view rates);

/// The devices that the host's tool lists: nvidia-smi, rocm-smi, amd-smi, hl-smi or xpu-smi.
[[nodiscard]] std::optional<DetectedGpus> detect_gpus(const HostPlaces& places);
/// The links between the devices; unset if nvidia-smi does not show them.
[[nodiscard]] std::optional<DetectedLinks> detect_links(const HostPlaces& places);

}  // namespace ddl
