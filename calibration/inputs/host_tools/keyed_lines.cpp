#include <utility>

#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {

ListedGpus keyed_lines(const ToolLines& lines, std::string_view key, std::string_view memory_key) {
  ListedGpus listed;
  std::optional<double> number, last;
  for (const std::string_view line : lines) {
    const auto value_of = [&](std::string_view name) -> std::string_view {
      const std::size_t at = line.find(name);
      return at == std::string_view::npos ? std::string_view() : tool_text(line.substr(at + name.size()));
    };
    if (line.starts_with("GPU:")) number = tool_number(value_of("GPU:"));
    if (const std::string_view name = value_of(key); !name.empty()) {
      if (!line.starts_with(key)) number = tool_number(line);
      if (number && last && *number <= *last) break;
      last = std::exchange(number, std::nullopt);
      listed.emplace_back(name, std::nullopt);
    }
    if (memory_key.empty() || listed.empty() || listed.back().second) continue;
    if (const auto mebibytes = tool_number(value_of(memory_key)))
      listed.back().second = static_cast<std::int64_t>(*mebibytes);
  }
  return listed;
}

}  // namespace ddl
