#pragma once

#include "calibration/inputs/host_tools/gpu_list.hpp"

namespace ddl {

/// Lines of `name, memory in MiB`, as nvidia-smi and hl-smi print them for a query.
[[nodiscard]] ListedGpus listed_by_name(std::string_view text);
/// rocm-smi's CSV: a line of column names, and a line per card.
[[nodiscard]] ListedGpus listed_by_rocm_smi(std::string_view text);

/// The GPUs in saved outputs of one tool, each in its own file.
[[nodiscard]] std::optional<DetectedGpus> gpus_of_nvidia_smi(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_rocm_smi(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_rocminfo(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_amd_smi(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_hl_smi(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_xpu_smi(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_npu_smi(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_neuron_ls(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_collect_env(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_lspci(const ToolLines& lines);
[[nodiscard]] std::optional<DetectedGpus> gpus_of_slurm(const ToolLines& lines);

}  // namespace ddl
