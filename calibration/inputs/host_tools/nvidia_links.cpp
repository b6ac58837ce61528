#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "calibration/inputs/host_tools/host_outputs.hpp"
#include "calibration/inputs/tool_text.hpp"
#include "core/program_output.hpp"

namespace ddl {
namespace {

using namespace std::chrono_literals;

constexpr auto links_patience = 10s;

bool is_numbered_gpu(std::string_view word) {
  return word.size() > 3 && word.starts_with("GPU") && word.find_first_not_of("0123456789", 3) == std::string::npos;
}

}  // namespace

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
      require_one_node(gpus, "GPUs", "nvidia-smi topo -m");
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
  constexpr double most_gigabytes = 1e4;  // assumed: a larger number is not the rate of a link
  const int sum = *std::max_element(sums.begin(), sums.end());
  found.links = sum <= most_links ? sum : widest;
  for (const std::string_view line : tool_parts(rates, '\n')) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("Link ") || colon == std::string_view::npos || line.find("GB/s") == std::string_view::npos)
      continue;
    if (const auto rate = tool_number(tool_text(line.substr(colon + 1))); rate && *rate > 0 && *rate < most_gigabytes)
      found.link_gb = *rate;
  }
  return found;
}

std::optional<DetectedLinks> detect_links(const HostPlaces& places) {
  const auto table = program_output({"nvidia-smi", "topo", "-m"}, places.search_path, links_patience);
  if (!table) return std::nullopt;
  const std::string rates = program_output({"nvidia-smi", "nvlink", "-s"}, places.search_path, links_patience).value_or("");
  return links_in(without_escape_codes(*table), rates);
}

}  // namespace ddl
