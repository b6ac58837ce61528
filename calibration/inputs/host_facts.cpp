#include "calibration/inputs/host_facts.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/captured_host.hpp"
#include "calibration/inputs/host_tools/gpu_tools.hpp"
#include "calibration/inputs/host_tools/host_outputs.hpp"
#include "core/error.hpp"
#include "core/program_output.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Timeout for programs such as scontrol, which may wait for a controller that does not answer.
constexpr auto patience = 10s;
/// Ports with a lower rate are assumed to serve administration.
constexpr double slowest_port_gigabits = 10;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view line = trimmed(text.substr(0, end)); !line.empty()) lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

template <class Number>
std::optional<Number> number_at_start(std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return std::nullopt;
  return number;
}

/// The first line of a small file; empty if the file cannot be read.
std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return std::string(trimmed(line));
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    entries.push_back(entry->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// The text after the ':' of the first line that starts with `key`.
std::string value_of(const std::vector<std::string>& lines, std::string_view key) {
  for (const std::string& line : lines) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(std::string_view(line).substr(0, colon)) == key) {
      return std::string(trimmed(std::string_view(line).substr(colon + 1)));
    }
  }
  return {};
}

std::optional<DetectedProcessor> detect_processor(const HostPlaces& places) {
  std::ifstream in(fs::path(places.root) / "proc/cpuinfo");
  std::vector<std::string> lines;
  std::set<std::string> sockets;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    if (line.starts_with("physical id")) sockets.insert(line);
  }
  if (const std::string name = value_of(lines, "model name"); !name.empty()) {
    return DetectedProcessor{name, std::max(1, static_cast<int>(sockets.size())), "/proc/cpuinfo"};
  }
  const auto text = program_output({"lscpu"}, places.search_path, patience);
  if (!text) return std::nullopt;
  lines = lines_of(*text);
  const std::string name = value_of(lines, "Model name");
  if (name.empty()) return std::nullopt;
  return DetectedProcessor{name, std::max(1, number_at_start<int>(value_of(lines, "Socket(s)")).value_or(1)), "lscpu"};
}

std::optional<DetectedPorts> detect_ports(const HostPlaces& places) {
  std::vector<PortRate> ports;
  for (const fs::path& adapter : entries_of(fs::path(places.root) / "sys/class/infiniband")) {
    for (const fs::path& port : entries_of(adapter / "ports")) {
      const std::string rate = first_line(port / "rate");
      const auto gigabits = number_at_start<double>(rate);
      if (gigabits && first_line(port / "state").find("ACTIVE") != std::string::npos) ports.push_back({*gigabits, rate});
    }
  }
  if (const auto found = fastest_port(ports, "/sys/class/infiniband")) return found;
  ports.clear();
  for (const fs::path& port : entries_of(fs::path(places.root) / "sys/class/net")) {
    std::error_code problem;
    // Skips bridges, tunnels and similar interfaces, which have no folder `device`.
    if (!fs::exists(port / "device", problem) || first_line(port / "operstate") != "up") continue;
    const auto megabits = number_at_start<std::int64_t>(first_line(port / "speed"));
    if (megabits && *megabits > 0)
      ports.push_back({static_cast<double>(*megabits) / 1000, fmt::format("{} Mb/s", *megabits)});
  }
  return fastest_port(ports, "/sys/class/net");
}

std::optional<DetectedNodes> detect_nodes(const HostPlaces& places, const std::optional<DetectedGpus>& gpus) {
  const auto text = program_output({"scontrol", "show", "nodes", "--oneliner"}, places.search_path, patience);
  return text ? nodes_in_output(*text, gpus) : std::nullopt;
}

}  // namespace

void require_one_node(std::size_t count, std::string_view things, std::string_view tool) {
  constexpr std::size_t most_of_node = 1024;  // assumed
  if (count > most_of_node)
    throw Error(fmt::format("{} lists more than 1,024 {}, which is more than a node has", tool, things),
                "use the output of one node");
}

std::optional<DetectedPorts> fastest_port(const std::vector<PortRate>& ports, std::string_view from) {
  require_one_node(ports.size(), "ports", from);
  DetectedPorts found;
  constexpr double most_gigabits = 1e5;  // assumed: a larger number is not the rate of a port
  for (const PortRate& port : ports) {
    if (port.gigabits > most_gigabits) continue;
    if (port.gigabits > found.gigabits) found = {0, port.gigabits, fmt::format("{}, {}", from, port.text)};
    if (port.gigabits == found.gigabits) ++found.count;
  }
  if (found.gigabits < slowest_port_gigabits) return std::nullopt;
  return found;
}

HostFacts detect_host(const HostPlaces& places) {
  HostFacts facts;
  facts.gpus = detect_gpus(places);
  if (facts.gpus && facts.gpus->tool == "nvidia-smi" && facts.gpus->count > 1) facts.links = detect_links(places);
  facts.processor = detect_processor(places);
  facts.ports = detect_ports(places);
  facts.nodes = detect_nodes(places, facts.gpus);
  return facts;
}

}  // namespace ddl
