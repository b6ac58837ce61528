#pragma once

#include <optional>
#include <string_view>

#include "calibration/inputs/host_facts.hpp"

namespace ddl {

/// The links in outputs of `nvidia-smi topo -m` and, for the rate of a link, `nvidia-smi nvlink -s`.
[[nodiscard]] std::optional<DetectedLinks> links_in(std::string_view topology, std::string_view rates);
/// The links between the devices of this host; unset if nvidia-smi does not show them.
[[nodiscard]] std::optional<DetectedLinks> detect_links(const HostPlaces& places);

}  // namespace ddl
