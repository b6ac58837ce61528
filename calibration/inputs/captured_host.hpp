#pragma once

#include <string_view>

#include "calibration/inputs/host_facts.hpp"

namespace ddl {

/// How nvidia-smi ends a name that it shortens.
inline constexpr std::string_view shortened_gpu_mark = "...";

/// The facts in saved outputs of nvidia-smi (the table, -L, -q, --format=csv, topo -m, nvlink -s), rocm-smi, rocminfo,
/// amd-smi, hl-smi, xpu-smi discovery, lscpu, ibstat, ibstatus, ibv_devinfo and scontrol show node, one after the other,
/// with or without the commands. If GPUs of several hosts are listed, those of the first host are used.
[[nodiscard]] HostFacts facts_in_outputs(std::string_view text);

}  // namespace ddl
