#include <algorithm>

#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {
namespace {

constexpr std::string_view nvidia_tool = "nvidia-smi";

/// `GPU 0: NVIDIA H200 (UUID: GPU-…)` of nvidia-smi -L.
std::optional<DetectedGpus> gpus_of_list(const ToolLines& lines) {
  GpuList list(nvidia_tool);
  for (const std::string_view line : lines) {
    if (!line.starts_with("GPU ") || line.find("(UUID: GPU-") == std::string_view::npos) continue;
    const std::size_t colon = line.find(':');
    list.add(tool_text(line.substr(colon + 1, line.find("(UUID") - colon - 1)), tool_number(line.substr(4)));
  }
  return list.gpus();
}

/// `Product Name : NVIDIA L40S` and the total of `FB Memory Usage` of nvidia-smi -q.
std::optional<DetectedGpus> gpus_of_query(const ToolLines& lines) {
  GpuList list(nvidia_tool);
  bool in_memory = false;
  for (const std::string_view line : lines) {
    if (line.find("Memory Usage") != std::string_view::npos) in_memory = line.starts_with("FB ");
    if (const auto size = tool_number(after_key(line, "Attached GPUs"))) list.begin_host(*size);
    if (line.starts_with("GPU ") && is_bus_address(line.substr(4))) list.add_address(line.substr(4));
    list.add(after_key(line, "Product Name"), std::nullopt);
    if (!in_memory) continue;
    if (const auto size = tool_number(after_key(line, "Total"))) list.add_memory(static_cast<std::int64_t>(*size));
  }
  return list.gpus();
}

/// The text of an element in one line, `<product_name>NVIDIA L4</product_name>`; empty for other lines.
std::string_view element(std::string_view line, std::string_view name) {
  if (!line.starts_with('<') || !line.substr(1).starts_with(name) || !line.substr(1 + name.size()).starts_with('>'))
    return {};
  line.remove_prefix(name.size() + 2);
  return line.substr(0, line.find('<'));
}

/// The name and memory of GPUs in the XML of nvidia-smi -q -x.
std::optional<DetectedGpus> gpus_of_xml(const ToolLines& lines) {
  GpuList list(nvidia_tool);
  bool in_memory = false;
  for (const std::string_view line : lines) {
    if (line.find("_memory_usage>") != std::string_view::npos) in_memory = line.starts_with("<fb_");
    if (const auto size = tool_number(element(line, "attached_gpus"))) list.begin_host(*size);
    if (line.starts_with("<gpu id=")) list.add_address(line);
    list.add(element(line, "product_name"), std::nullopt);
    if (!in_memory) continue;
    if (const auto size = tool_number(element(line, "total"))) list.add_memory(static_cast<std::int64_t>(*size));
  }
  return list.gpus();
}

/// nvidia-smi --query-gpu=…,name,memory.total --format=csv, with its line of names.
std::optional<DetectedGpus> gpus_of_csv(const ToolLines& lines) {
  GpuList list(nvidia_tool);
  std::size_t columns = 0, name = 0, memory = 0, index = 0;
  bool has_memory = false;
  for (const std::string_view line : lines) {
    const ToolLines cells = tool_parts(line, ',');
    const auto named = [&](std::string_view text) {
      return std::find_if(cells.begin(), cells.end(),
                          [&](std::string_view cell) { return cell.substr(0, cell.find(' ')) == text; });
    };
    if (named("name") != cells.end() && cells.size() > 1) {
      columns = cells.size();
      name = static_cast<std::size_t>(named("name") - cells.begin());
      memory = static_cast<std::size_t>(named("memory.total") - cells.begin());
      has_memory = memory < columns;
      index = static_cast<std::size_t>(named("index") - cells.begin());
      list.begin_host();
    } else if (columns > 0 && cells.size() == columns && !cells[name].empty()) {
      list.add(cells[name], index < columns ? tool_number(cells[index]) : std::nullopt);
      if (const auto size = has_memory ? tool_number(cells[memory]) : std::nullopt)
        list.add_memory(static_cast<std::int64_t>(*size));
    }
  }
  return list.gpus();
}

}  // namespace

ListedGpus listed_by_name(std::string_view text) {
  ListedGpus listed;
  for (const std::string_view line : tool_parts(text, '\n')) {
    const std::size_t comma = line.rfind(',');
    if (comma == std::string_view::npos) continue;
    const auto memory = tool_number(tool_text(line.substr(comma + 1)));
    listed.emplace_back(tool_text(line.substr(0, comma)),
                        memory ? std::optional(static_cast<std::int64_t>(*memory)) : std::nullopt);
  }
  return listed;
}

std::optional<DetectedGpus> gpus_of_nvidia_smi(const ToolLines& lines) {
  const std::optional<DetectedGpus> table = gpus_of_table(lines, nvidia_tool, "NVIDIA-SMI ");
  std::optional<DetectedGpus> gpus = gpus_of_list(lines);
  if (!gpus) gpus = gpus_of_query(lines);
  if (!gpus) gpus = gpus_of_xml(lines);
  if (!gpus) gpus = table;
  if (gpus && !gpus->memory_mib && table) gpus->memory_mib = table->memory_mib;
  return gpus ? gpus : gpus_of_csv(lines);
}

}  // namespace ddl
