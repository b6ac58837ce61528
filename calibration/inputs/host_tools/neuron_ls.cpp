#include <string>

#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {

/// The rows `| 0 | 2 | 32 GB | 00:1e.0 |` of neuron-ls, which may have more columns. The devices have no name, so the family
/// of the instance type is used: `trn1` of `instance-type: trn1.32xlarge`.
std::optional<DetectedGpus> gpus_of_neuron_ls(const ToolLines& lines) {
  GpuList list("neuron-ls");
  std::string family;
  for (const std::string_view line : lines) {
    if (const std::string_view type = after_key(line, "instance-type"); !type.empty()) {
      list.begin_host();
      family = type.substr(0, type.find('.'));
    }
    const ToolLines cells = tool_parts(line, '|');
    const auto number = tool_number(cells.front());
    if (family.empty() || cells.size() < 4 || !number) continue;
    list.add(family, number);
    for (const std::string_view cell : cells) {
      constexpr double mebibytes_per_gibibyte = 1024;
      if (const auto size = tool_number(cell); size && cell.ends_with(" GB"))
        list.add_memory(static_cast<std::int64_t>(*size * mebibytes_per_gibibyte));
    }
  }
  return list.gpus();
}

}  // namespace ddl
