#include "calibration/inputs/detected_gpus.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/tool_text.hpp"
#include "core/lower_case.hpp"
#include "core/program_output.hpp"

namespace ddl {
namespace {

using namespace std::chrono_literals;

constexpr auto tool_patience = 10s;

/// Lines of `name, memory in MiB`, as nvidia-smi and hl-smi print them.
ListedGpus named_lines(std::string_view text) {
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

/// rocm-smi's CSV: a line of column names, and a line per card.
ListedGpus rocm_lines(std::string_view text) {
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

/// The text after the first `key:` of each line, as amd-smi and xpu-smi print it, and the memory that follows a name. The
/// number of a GPU stands in the line `GPU: 0`, or before its name; if it comes again, another host begins.
ListedGpus keyed_lines(std::string_view text, std::string_view key, std::string_view memory_key) {
  ListedGpus listed;
  std::optional<double> number, last;
  for (const std::string_view line : tool_parts(text, '\n')) {
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

bool is_numbered_gpu(std::string_view word) {
  return word.size() > 3 && word.starts_with("GPU") && word.find_first_not_of("0123456789", 3) == std::string::npos;
}

/// Words of a GPU's name without the vendor and the size of its memory.
struct GpuWords {
  std::set<std::string> chip;
  std::string form;  ///< `pcie`, `nvl`, `dgxs`; empty for SXM modules, and for GPUs of one form
};
GpuWords words_of_gpu(const std::string& name) {
  std::string letters = lower_case(name);
  std::replace_if(
      letters.begin(), letters.end(), [](char c) { return c == '-' || c == '_' || c == '(' || c == ')'; }, ' ');
  GpuWords found;
  for (const std::string_view part : words_in(letters)) {
    const std::string word(part);
    static const std::set<std::string> makers{"nvidia", "tesla", "quadro",   "geforce", "amd", "instinct", "radeon",
                                              "intel",  "r",     "graphics", "ac",      "oam", "mba",      "mcm"};
    const bool is_memory = word.size() > 1 && (word.ends_with("gb") || word.ends_with("g")) && word.front() >= '0' &&
                           word.front() <= '9' && word.find_first_not_of("0123456789gb") == std::string::npos;
    if (makers.contains(word) || is_memory || word.starts_with("hbm") || word.starts_with("sxm") || word == "gb") continue;
    if (word == "pcie" || word == "nvl" || word == "dgxs") {
      found.form = word;
    } else {
      found.chip.insert(word);
    }
  }
  return found;
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
      kinds.push_back({.name = name, .count = 1, .memory_mib = memory});
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

std::string maker_of(const std::string& gpu) {
  const std::string name = lower_case(gpu);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (has("amd") || has("instinct") || has("radeon")) return "AMD";
  if (has("gaudi") || has("habana") || name.starts_with("hl-")) return "Habana";
  if (has("intel")) return "Intel";
  // No tool of these vendors is run; the word only distinguishes them from NVIDIA.
  for (const std::string_view maker : {"google", "aws", "huawei", "fujitsu"}) {
    if (name.starts_with(maker)) return gpu.substr(0, maker.size());
  }
  return "NVIDIA";
}

bool is_same_gpu(const std::string& a, const std::string& b) {
  const GpuWords first = words_of_gpu(a), second = words_of_gpu(b);
  return first.chip == second.chip && first.form == second.form;
}

std::optional<DetectedGpus> detect_gpus(const HostPlaces& places) {
  const auto ask = [&](std::vector<std::string> words) {
    return program_output(words, places.search_path, tool_patience).value_or("");
  };
  const std::string memory_query = "--query-gpu=name,memory.total";
  if (auto gpus = counted_gpus(named_lines(ask({"nvidia-smi", memory_query, "--format=csv,noheader,nounits"})), "NVIDIA",
                               "nvidia-smi")) {
    return gpus;
  }
  if (auto gpus = counted_gpus(rocm_lines(ask({"rocm-smi", "--showproductname", "--showmeminfo", "vram", "--csv"})), "AMD",
                               "rocm-smi")) {
    return gpus;
  }
  if (auto gpus = counted_gpus(keyed_lines(ask({"amd-smi", "static", "--asic", "--vram"}), "MARKET_NAME:", "SIZE:"), "AMD",
                               "amd-smi")) {
    return gpus;
  }
  if (auto gpus =
          counted_gpus(named_lines(ask({"hl-smi", "-Q", "name,memory.total", "-f", "csv,noheader"})), "Habana", "hl-smi"))
    return gpus;
  return counted_gpus(keyed_lines(ask({"xpu-smi", "discovery"}), "Device Name:", ""), "Intel", "xpu-smi");
}

std::optional<DetectedGpus> gpus_of_outputs(std::string_view text) {
  if (auto gpus = counted_gpus(keyed_lines(text, "MARKET_NAME:", "SIZE:"), "AMD", "amd-smi")) return gpus;
  return counted_gpus(keyed_lines(text, "Device Name:", ""), "Intel", "xpu-smi");
}

std::optional<DetectedLinks> links_in(std::string_view topology, std::string_view rates) {
  std::size_t gpus = 0;
  DetectedLinks found;
  std::vector<int> sums;
  int pairs = 0, linked = 0, widest = 0;
  for (const std::string_view line : tool_parts(topology, '\n')) {
    const std::vector<std::string_view> words = words_in(line);
    if (words.empty() || !is_numbered_gpu(words.front())) continue;
    if (gpus == 0) {
      gpus = static_cast<std::size_t>(std::count_if(words.begin(), words.end(), is_numbered_gpu));
      continue;
    }
    if (sums.size() == gpus) break;  // the table of another host
    if (words.size() <= gpus) return std::nullopt;
    int sum = 0;
    for (std::size_t i = 1; i <= gpus; ++i) {
      if (words[i] == "X") continue;
      ++pairs;
      const auto links = words[i].starts_with("NV") ? tool_number(words[i].substr(2)) : std::nullopt;
      if (!links) {
        found.path = std::max(found.path, std::string(words[i]));
        continue;
      }
      ++linked;
      widest = std::max(widest, static_cast<int>(std::min(*links, 1000.0)));
      sum += static_cast<int>(std::min(*links, 1000.0));
    }
    sums.push_back(sum);
  }
  if (sums.size() < 2 || sums.size() != gpus || pairs == 0) return std::nullopt;
  found.kind = linked == pairs ? DetectedLinks::Kind::all
               : linked > 0    ? DetectedLinks::Kind::some
                               : DetectedLinks::Kind::none;
  if (linked == 0) return found;
  // Behind NVSwitch, each pair shows all links of a GPU. No GPU has more than 18 links.
  constexpr int most_links = 18;
  const int sum = *std::max_element(sums.begin(), sums.end());
  found.links = sum <= most_links ? sum : widest;
  for (const std::string_view line : tool_parts(rates, '\n')) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("Link ") || colon == std::string_view::npos || line.find("GB/s") == std::string_view::npos)
      continue;
    if (const auto rate = tool_number(tool_text(line.substr(colon + 1))); rate && *rate > 0) found.link_gb = *rate;
  }
  return found;
}

std::optional<DetectedLinks> detect_links(const HostPlaces& places) {
  const auto table = program_output({"nvidia-smi", "topo", "-m"}, places.search_path, tool_patience);
  if (!table) return std::nullopt;
  const std::string rates = program_output({"nvidia-smi", "nvlink", "-s"}, places.search_path, tool_patience).value_or("");
  return links_in(without_escape_codes(*table), rates);
}

}  // namespace ddl
