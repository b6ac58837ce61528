#include "calibration/inputs/host_tools/gpu_tools.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"
#include "core/program_output.hpp"

namespace ddl {
namespace {

using namespace std::chrono_literals;

constexpr auto tool_patience = 10s;

constexpr std::array tools{
    GpuTool{"nvidia-smi",
            "NVIDIA",
            "NVIDIA-SMI",
            {"nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"},
            listed_by_name,
            gpus_of_nvidia_smi},
    GpuTool{"rocm-smi",
            "AMD",
            "",
            {"rocm-smi", "--showproductname", "--showmeminfo", "vram", "--csv"},
            listed_by_rocm_smi,
            gpus_of_rocm_smi},
    GpuTool{"amd-smi", "AMD", "AMD-SMI", {"amd-smi", "static", "--asic", "--vram"}, nullptr, gpus_of_amd_smi},
    GpuTool{"hl-smi",
            "Habana",
            "HL-SMI",
            {"hl-smi", "-Q", "name,memory.total", "-f", "csv,noheader"},
            listed_by_name,
            gpus_of_hl_smi},
    GpuTool{"xpu-smi", "Intel", "XPU-SMI", {"xpu-smi", "discovery"}, nullptr, gpus_of_xpu_smi},
    GpuTool{"npu-smi", "Huawei", "npu-smi ", {"npu-smi", "info"}, nullptr, gpus_of_npu_smi},
    GpuTool{"neuron-ls", "AWS", "instance-type:", {"neuron-ls"}, nullptr, gpus_of_neuron_ls},
    GpuTool{"rocminfo", "AMD", "", {}, nullptr, gpus_of_rocminfo},
    GpuTool{"torch.utils.collect_env", "", "", {}, nullptr, gpus_of_collect_env},
    GpuTool{"lspci", "", "", {}, nullptr, gpus_of_lspci},
    GpuTool{"Slurm", "", "", {}, nullptr, gpus_of_slurm},
};

/// Removes the lines from another tool's header on, up to the next header or the next command.
ToolLines lines_for(const GpuTool& tool, const ToolLines& lines) {
  ToolLines own;
  const GpuTool* owner = nullptr;
  for (const std::string_view line : lines) {
    if (line.starts_with("$ ")) owner = nullptr;
    for (const GpuTool& each : tools) {
      if (!each.head.empty() && line.find(each.head) != std::string_view::npos) owner = &each;
    }
    if (owner == nullptr || owner->name == tool.name) own.push_back(line);
  }
  return own;
}

}  // namespace

std::span<const GpuTool> gpu_tools() { return tools; }

std::string asked_gpu_tools(std::string_view last_word) {
  std::vector<std::string_view> names;
  for (const GpuTool& tool : tools) {
    if (!tool.query.front().empty()) names.push_back(tool.name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size() && !last_word.empty();
    if (i > 0) text += is_last ? " " + std::string(last_word) + " " : ", ";
    text += names[i];
  }
  return text;
}

std::optional<DetectedGpus> gpus_of_saved(const ToolLines& lines) {
  for (const GpuTool& tool : tools) {
    if (auto gpus = tool.of_saved(lines_for(tool, lines))) {
      if (!tool.maker.empty()) gpus->maker = tool.maker;
      return gpus;
    }
  }
  return std::nullopt;
}

std::optional<DetectedGpus> detect_gpus(const HostPlaces& places) {
  for (const GpuTool& tool : tools) {
    std::vector<std::string> words;
    for (const std::string_view word : tool.query) {
      if (!word.empty()) words.emplace_back(word);
    }
    if (words.empty()) continue;
    const std::string text = without_escape_codes(program_output(words, places.search_path, tool_patience).value_or(""));
    auto gpus = tool.of_query != nullptr ? counted_gpus(tool.of_query(text), std::string(tool.maker), std::string(tool.name))
                                         : tool.of_saved(tool_parts(std::string_view(text), '\n'));
    if (!gpus) continue;
    gpus->maker = tool.maker;
    return gpus;
  }
  return std::nullopt;
}

}  // namespace ddl
