#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/host_tools/host_outputs.hpp"
#include "calibration/inputs/host_tools/tools.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {
namespace {

/// The GPUs of Slurm's `Gres=gpu:h100:8(S:0-1)`.
std::optional<DetectedGpus> gpus_of_gres(const std::string& gres) {
  const ToolLines parts = tool_parts(std::string_view(gres), ':');
  if (parts.size() < 3 || parts[0] != "gpu" || parts[1].empty()) return std::nullopt;
  const auto count = tool_number(parts[2]);
  if (!count || *count < 1 || *count > 1000) return std::nullopt;
  const std::string name(parts[1]);
  return DetectedGpus{
      .name = name, .count = static_cast<int>(*count), .memory_mib = {}, .maker = maker_of(name), .tool = "Slurm"};
}

/// Upper limit of the nodes of a cluster, assumed: the largest have some 10,000.
constexpr int most_cluster_nodes = 1'000'000;

/// The nodes of Slurm.
struct SlurmNodes {
  std::set<std::string_view> names{};
  std::map<std::string, int> nodes_of_gres{};  ///< `gpu:h100:8`, and the number of nodes with these GPUs
  std::string first_gres{};
};

/// The GPUs of a node without the sockets that they are attached to, as in `gpu:h100:8(S:0-1)`.
std::string gres_of(std::string_view text) { return std::string(text.substr(0, text.find("(S:"))); }

void add_gres(SlurmNodes& found, const std::string& gres, int nodes) {
  int& sum = found.nodes_of_gres[gres];
  sum = std::min(sum + nodes, most_cluster_nodes);
  if (found.first_gres.empty()) found.first_gres = gres;
}

/// The records of scontrol show node, in one line or in several. A record that appears again is skipped.
void add_records(const ToolLines& lines, SlurmNodes& found) {
  constexpr std::string_view key = "Gres=";
  bool is_new = false;
  for (const std::string_view line : lines) {
    if (line.starts_with("NodeName=")) is_new = found.names.insert(words_in(line).front()).second;
    for (const std::string_view word : words_in(line)) {
      if (!word.starts_with("Gres=gpu") || !is_new) continue;
      add_gres(found, gres_of(word.substr(key.size())), 1);
      is_new = false;
    }
  }
}

/// The rows of sinfo below column names with GRES and NODELIST. Nodes that are in several partitions appear several times.
void add_rows(const ToolLines& lines, SlurmNodes& found) {
  std::vector<std::string_view> header;
  const auto column = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  for (const std::string_view line : lines) {
    const std::vector<std::string_view> words = words_in(line);
    const auto has = [&](std::string_view name) { return std::find(words.begin(), words.end(), name) != words.end(); };
    if (has("GRES") && has("NODELIST")) {
      header = words;
      continue;
    }
    if (header.empty() || words.size() != header.size()) {
      header.clear();
      continue;
    }
    const std::string gres = gres_of(words[column("GRES")]);
    if (!found.names.insert(words[column("NODELIST")]).second || !gres.starts_with("gpu")) continue;
    const std::size_t nodes = column("NODES");
    const double count = nodes < words.size() ? tool_number(words[nodes]).value_or(0) : 1;
    if (count >= 1 && count <= most_cluster_nodes) add_gres(found, gres, static_cast<int>(count));
  }
}

SlurmNodes nodes_in(const ToolLines& lines) {
  SlurmNodes found;
  add_records(lines, found);
  if (found.names.empty()) add_rows(lines, found);
  return found;
}

}  // namespace

/// The nodes with the GPUs of the host, or else with those of the first node.
std::optional<DetectedNodes> slurm_nodes_in(const ToolLines& lines, const std::optional<DetectedGpus>& gpus) {
  const SlurmNodes slurm = nodes_in(lines);
  if (slurm.names.empty()) return std::nullopt;
  if (slurm.nodes_of_gres.empty()) return DetectedNodes{static_cast<int>(slurm.names.size()), false};
  const auto is_of_host = [&](const std::string& gres) {
    const auto listed = gpus_of_gres(gres);
    return gpus && listed && listed->count == gpus->count && is_same_gpu(listed->name, gpus->name);
  };
  std::string counted = slurm.first_gres;
  if (!is_of_host(counted)) {
    for (const auto& [gres, nodes] : slurm.nodes_of_gres) {
      if (is_of_host(gres)) counted = gres;
    }
  }
  constexpr std::size_t most_named = 8;
  std::vector<std::string> others;
  for (const auto& [gres, nodes] : slurm.nodes_of_gres) {
    if (gres != counted && others.size() < most_named) others.push_back(fmt::format("{} with {}", nodes, gres));
  }
  if (const std::size_t kinds = slurm.nodes_of_gres.size() - 1; kinds > others.size())
    others.push_back(fmt::format("and those of {} more kinds", kinds - others.size()));
  return DetectedNodes{slurm.nodes_of_gres.at(counted), true, fmt::format("{}", fmt::join(others, ", "))};
}

std::optional<DetectedGpus> gpus_of_slurm(const ToolLines& lines) { return gpus_of_gres(nodes_in(lines).first_gres); }

}  // namespace ddl
