#pragma once

#include <string_view>

#include "calibration/inputs/host_facts.hpp"

namespace ddl {

/// How nvidia-smi ends a name that it shortens.
inline constexpr std::string_view shortened_gpu_mark = "...";

/// Reads facts from saved outputs of the tools of `host_tools/`, one after the other, with or without the commands. The
/// tools are nvidia-smi (the table, -L, -q, -q -x, --format=csv, topo -m, nvlink -s), others that list GPUs, lscpu, ibstat,
/// ibstatus, ibv_devinfo, scontrol show node and sinfo. If the outputs list several hosts, GPUs and ports of the first host
/// are used. Nodes are counted if they have the GPUs of this host, or else the GPUs of the first node.
[[nodiscard]] HostFacts facts_in_outputs(std::string_view text);
/// The nodes in an output of scontrol show nodes that have these GPUs, or else those of the first node.
[[nodiscard]] std::optional<DetectedNodes> nodes_in_output(std::string_view text, const std::optional<DetectedGpus>& gpus);

}  // namespace ddl
