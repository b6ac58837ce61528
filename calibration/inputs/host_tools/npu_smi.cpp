#include <string>

#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {
namespace {

/// The name with its family, which npu-smi omits for some chips: `910B3`, but `Ascend910`.
std::string npu_name(std::string_view name) {
  constexpr std::string_view family = "Ascend";
  return name.starts_with(family) ? std::string(name) : std::string(family) + std::string(name);
}

/// The last nonzero total in the row of a chip: `0    / 0          41697/ 65536`, in MB.
std::optional<std::int64_t> last_total(std::string_view cell) {
  std::optional<std::int64_t> total;
  for (std::size_t at = cell.find('/'); at != std::string_view::npos; at = cell.find('/', at + 1)) {
    if (const auto megabytes = tool_number(tool_text(cell.substr(at + 1))); megabytes && *megabytes > 0)
      total = static_cast<std::int64_t>(*megabytes);
  }
  return total;
}

/// `0   0   Ascend 910B3` of npu-smi info -m: the numbers of a module and a chip, and the chip's name.
void add_mapping(const std::vector<std::string_view>& words, GpuList& list) {
  constexpr std::size_t module = 0, chip = 1, name = 3;
  if (words.size() < name + 2 || words[name] != "Ascend" || tool_number(words[chip]) != 0) return;
  list.add(npu_name(words[name + 1]), tool_number(words[module]));
}

}  // namespace

/// The modules in the table of npu-smi info. A module has two rows for each of its chips: `| 0  910B3 | OK | 90.4 …`, and
/// `| 0 | 0000:C1:00.0 | 0   0 / 0   41697 / 65536 |`. All chips of a module are one device.
std::optional<DetectedGpus> gpus_of_npu_smi(const ToolLines& lines) {
  GpuList table("npu-smi"), mapping("npu-smi");
  std::optional<double> module;
  bool is_in_table = false, is_in_mapping = false;
  for (const std::string_view line : lines) {
    if (line.starts_with("npu-smi ")) {
      table.begin_host();
      is_in_table = true;
      module.reset();
    }
    if (line.starts_with("NPU ID")) is_in_mapping = true;
    const ToolLines cells = tool_parts(line, '|');
    const std::vector<std::string_view> words = words_in(cells.front());
    if (is_in_mapping && cells.size() == 1) add_mapping(words, mapping);
    if (cells.size() < 3) {
      // After the devices, a table of processes follows.
      if (cells.size() == 1 && line.starts_with('+')) continue;
      is_in_table = is_in_table && !line.empty();
      continue;
    }
    if (!is_in_table || words.empty()) continue;
    if (cells.front().starts_with("NPU")) {
      is_in_table = cells[1].starts_with("Health");
      continue;
    }
    const auto number = tool_number(words.front());
    if (!number) continue;
    if (is_bus_address(cells[1])) {
      if (const auto megabytes = module ? last_total(cells.back()) : std::nullopt) table.add_part_of_memory(*megabytes);
    } else if (words.size() == 2 && module != number) {
      table.add(npu_name(words[1]), number);
      module = number;
    }
  }
  auto gpus = table.gpus();
  return gpus ? gpus : mapping.gpus();
}

}  // namespace ddl
