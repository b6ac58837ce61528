#include "calibration/inputs/host_tools/gpu_list.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/captured_host.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {
namespace {

/// Upper limit of the memory of a device, 1 TiB, assumed. A larger number in an output is not a memory size.
constexpr std::int64_t most_mebibytes = 1 << 20;

/// MiB after the '/' of `437MiB /  81920MiB`, or of amd-smi's `283/196592 MB`.
std::optional<std::int64_t> memory_in(std::string_view line) {
  for (std::size_t at = line.find('/'); at != std::string_view::npos; at = line.find('/', at + 1)) {
    const std::string_view size = tool_text(line.substr(at + 1));
    const std::size_t unit = size.find_first_not_of("0123456789");
    if (unit == 0 || unit == std::string_view::npos) continue;
    const std::string_view name = tool_text(size.substr(unit));
    if (!name.starts_with("MiB") && !name.starts_with("MB")) continue;
    if (const auto mebibytes = tool_number(size)) return static_cast<std::int64_t>(*mebibytes);
  }
  return std::nullopt;
}

/// Older drivers shorten names. `Tesla V100-SXM2...` only lacks the memory; other names may lack a word such as SUPER.
std::string whole_name(const std::string& name) {
  const bool is_shortened = name.ends_with(shortened_gpu_mark);
  const bool is_known = name.find("-SXM") != std::string::npos || name.find("-PCI") != std::string::npos;
  return is_shortened && is_known ? name.substr(0, name.size() - shortened_gpu_mark.size()) : name;
}

void add_table_row(std::string_view line, GpuList& list) {
  const ToolLines cells = tool_parts(line, '|');
  if (cells.size() < 2) return;
  std::vector<std::string_view> words = words_in(cells[0]);
  const std::vector<std::string_view> next_cell = words_in(cells[1]);
  if (words.size() < 2) return;
  std::optional<double> number;
  if (!is_bus_address(words.front())) {
    number = tool_number(words.front());
    if (!number || next_cell.empty() || !is_bus_address(next_cell.front())) return;
    constexpr std::array<std::string_view, 6> modes{"On", "Off", "N/A", "WDDM", "TCC", "MCDM"};  // modes
    if (words.size() > 2 && std::find(modes.begin(), modes.end(), words.back()) != modes.end()) words.pop_back();
  }
  std::string name;
  for (std::size_t i = 1; i < words.size(); ++i) name += (i > 1 ? " " : "") + std::string(words[i]);
  // Two numbers are not a name: they number a chip in its module and on the host.
  if (name.find_first_not_of("0123456789") == std::string::npos) return;
  if (!number) list.add_address(words.front());
  list.add(whole_name(name), number);
}

}  // namespace

std::optional<DetectedGpus> counted_gpus(const ListedGpus& listed, std::string maker, std::string tool) {
  require_one_node(listed.size(), "GPUs", tool);
  std::vector<DetectedGpus> kinds;
  for (const auto& [name, memory] : listed) {
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&, &of = name](const auto& kind) { return kind.name == of; });
    if (known != kinds.end()) {
      ++known->count;
    } else {
      const bool is_memory = memory > 0 && memory <= most_mebibytes;
      kinds.push_back({.name = name, .count = 1, .memory_mib = is_memory ? memory : std::nullopt});
    }
  }
  if (kinds.empty()) return std::nullopt;
  DetectedGpus gpus =
      *std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.count < b.count; });
  std::vector<std::string> others;
  for (const DetectedGpus& kind : kinds) {
    if (kind.name != gpus.name) others.push_back(fmt::format("{} x {}", kind.count, kind.name));
  }
  gpus.others = fmt::format("{}", fmt::join(others, ", "));
  gpus.maker = std::move(maker);
  gpus.tool = std::move(tool);
  return gpus;
}

void GpuList::add(std::string_view name, std::optional<double> number) {
  is_over_ = is_over_ || (number && last_ && *number <= *last_);
  if (is_over_ || name.empty()) return;
  last_ = number;
  listed_.emplace_back(std::string(name), std::nullopt);
}

void GpuList::add_memory(std::optional<std::int64_t> mebibytes) {
  if (!is_over_ && mebibytes && !listed_.empty() && !listed_.back().second) listed_.back().second = mebibytes;
}

void GpuList::add_part_of_memory(std::int64_t mebibytes) {
  if (is_over_ || listed_.empty()) return;
  const std::int64_t sum = listed_.back().second.value_or(0);
  listed_.back().second = sum + std::min(mebibytes, 2 * most_mebibytes - sum);  // a sum above the limit stays above it
}

std::optional<DetectedGpus> GpuList::gpus() const {
  if (listed_.empty()) return std::nullopt;
  // An output for one of the GPUs, such as that of nvidia-smi -q -i 0, says how many the host has.
  constexpr double most_gpus = 64;
  ListedGpus all = listed_;
  while (static_cast<double>(all.size()) < std::min(host_size_, most_gpus)) all.push_back(listed_.back());
  return counted_gpus(all, maker_of(listed_.front().first), std::string(tool_));
}

std::string_view after_key(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return {};
  line = tool_text(line.substr(key.size()));
  return line.starts_with(':') ? tool_text(line.substr(1)) : std::string_view();
}

bool is_bus_address(std::string_view word) {
  return std::count(word.begin(), word.end(), ':') == 2 && std::count(word.begin(), word.end(), '.') == 1 &&
         word.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

std::optional<DetectedGpus> gpus_of_table(const ToolLines& lines, std::string_view tool, std::string_view head) {
  GpuList list(tool);
  for (const std::string_view line : lines) {
    if (line.starts_with(head)) list.begin_host();
    if (line.find('|') == std::string_view::npos) continue;
    add_table_row(line, list);
    list.add_memory(memory_in(line));
  }
  return list.gpus();
}

}  // namespace ddl
