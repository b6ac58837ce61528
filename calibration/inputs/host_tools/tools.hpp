#pragma once

#include <string_view>

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

/// The text after the first `key:` of each line, as amd-smi and xpu-smi print it, and the memory that follows a name. The
/// number of a GPU is in the line `GPU: 0`, or before its name; if a number appears again, another host begins.
[[nodiscard]] ListedGpus keyed_lines(const ToolLines& lines, std::string_view key, std::string_view memory_key);

/// The name of the device with this PCI number, such as `0x74a1`; empty if calibration/devices/pci-numbers.yaml lacks it.
[[nodiscard]] std::string_view device_of_pci_number(std::string_view number);

}  // namespace ddl
