#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"
#include "core/lower_case.hpp"

namespace ddl {
namespace {

constexpr std::string_view rocm_tool = "rocm-smi";

/// The name of a card series: found by its PCI number, or in the brackets of `Aqua Vanjaram [Instinct MI300A]`.
std::string_view series_name(std::string_view name) {
  if (const std::string_view known = device_of_pci_number(name); !known.empty()) return known;
  const std::size_t open = name.find('['), close = name.find(']');
  const bool has_brackets = open != std::string_view::npos && close != std::string_view::npos && open < close;
  return has_brackets ? name.substr(open + 1, close - open - 1) : name;
}

/// The device whose PCI number is in a row: `0  2  0x74a1,  28851`, or `[0x74a1 : 0x00]`; empty if there is none.
std::string_view device_in_row(std::string_view line) {
  for (std::string_view word : words_in(line)) {
    if (word.starts_with('[')) word.remove_prefix(1);
    if (const std::string_view name = device_of_pci_number(word.substr(0, word.find(','))); !name.empty()) return name;
  }
  return {};
}

}  // namespace

ListedGpus listed_by_rocm_smi(std::string_view text) {
  ListedGpus listed;
  std::optional<std::size_t> series, memory;
  for (const std::string_view line : tool_parts(text, '\n')) {
    const std::vector<std::string_view> cells = tool_parts(line, ',');
    if (lower_case(cells.front()) == "device") {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (lower_case(cells[i]) == "card series") series = i;
        if (lower_case(cells[i]) == "vram total memory (b)") memory = i;
      }
    } else if (series && cells.size() > *series && lower_case(cells.front()).starts_with("card")) {
      const auto bytes = memory && cells.size() > *memory ? tool_number(cells[*memory]) : std::nullopt;
      listed.emplace_back(cells[*series], bytes ? std::optional(static_cast<std::int64_t>(*bytes / 0x1p20)) : std::nullopt);
    } else if (const std::size_t at = lower_case(line).find("card series:"); at != std::string::npos) {
      // Without CSV: `GPU[0] : Card series: AMD Instinct MI210`
      listed.emplace_back(tool_text(line.substr(at + std::string_view("card series:").size())), std::nullopt);
    }
  }
  return listed;
}

/// `GPU[0] : Card series: AMD Instinct MI210`, or the concise table with names or PCI numbers.
std::optional<DetectedGpus> gpus_of_rocm_smi(const ToolLines& lines) {
  GpuList named(rocm_tool), numbered(rocm_tool), below(rocm_tool);
  std::optional<double> row;
  for (const std::string_view line : lines) {
    if (line.starts_with("GPU[")) {
      const std::size_t colon = line.find(':');
      const std::string_view value = colon == std::string_view::npos ? "" : tool_text(line.substr(colon + 1));
      const std::string key = lower_case(value);
      if (key.starts_with("card series:") || key.starts_with("device name:"))
        named.add(series_name(tool_text(value.substr(value.find(':') + 1))), tool_number(line.substr(4)));
    }
    if (row && (line.starts_with("AMD ") || line.starts_with("Instinct "))) below.add(line, row);
    row = tool_number(line);
    if (!row) continue;
    if (const std::string_view name = device_in_row(line); !name.empty()) numbered.add(name, row);
  }
  for (const GpuList* const list : {&named, &below, &numbered}) {
    if (auto gpus = list->gpus()) return gpus;
  }
  return std::nullopt;
}

}  // namespace ddl
