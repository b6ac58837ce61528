#pragma once

#include <optional>
#include <string_view>

#include "calibration/inputs/host_facts.hpp"
#include "calibration/inputs/host_tools/gpu_list.hpp"

namespace ddl {

/// The processors in an output of lscpu.
[[nodiscard]] std::optional<DetectedProcessor> processor_in(const ToolLines& lines);
/// The active ports in outputs of ibstat, ibstatus or ibv_devinfo.
[[nodiscard]] std::optional<DetectedPorts> ports_in(const ToolLines& lines);
/// The nodes in an output of scontrol show node or sinfo that have the GPUs of the host, or else those of the first node.
[[nodiscard]] std::optional<DetectedNodes> slurm_nodes_in(const ToolLines& lines, const std::optional<DetectedGpus>& gpus);

/// The links in outputs of `nvidia-smi topo -m` and, for the rate of a link, `nvidia-smi nvlink -s`.
[[nodiscard]] std::optional<DetectedLinks> links_in(std::string_view topology, std::string_view rates);
/// The links between the devices of this host; unset if nvidia-smi does not show them.
[[nodiscard]] std::optional<DetectedLinks> detect_links(const HostPlaces& places);

}  // namespace ddl
