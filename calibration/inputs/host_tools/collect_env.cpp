#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {
namespace {

/// `GPU 0: NVIDIA H100 80GB HBM3`
bool add_numbered(std::string_view line, GpuList& list) {
  const std::size_t colon = line.find(':');
  if (!line.starts_with("GPU ") || colon == std::string_view::npos) return false;
  const auto number = tool_number(line.substr(4));
  if (number) list.add(tool_text(line.substr(colon + 1)), number);
  return number.has_value();
}

}  // namespace

/// The GPUs in the report of PyTorch's collect_env. They are below `GPU models and configuration:`, in numbered lines, or
/// for Intel in lines with a star. For AMD, the report names one device without the number of devices, so no GPU is
/// returned.
std::optional<DetectedGpus> gpus_of_collect_env(const ToolLines& lines) {
  constexpr std::string_view of_cuda = "GPU models and configuration", of_intel = "Intel GPU models onboard";
  GpuList list("torch.utils.collect_env");
  bool is_numbered = false, is_starred = false;
  for (const std::string_view line : lines) {
    if (line.starts_with(of_cuda)) {
      list.begin_host();
      is_numbered = true;
      add_numbered(after_key(line, of_cuda), list);
      continue;
    }
    if (line.starts_with(of_intel)) {
      list.begin_host();
      is_starred = true;
      continue;
    }
    is_numbered = is_numbered && add_numbered(line, list);
    is_starred = is_starred && line.starts_with("* ");
    if (is_starred) list.add(tool_text(line.substr(1)), std::nullopt);
  }
  return list.gpus();
}

}  // namespace ddl
