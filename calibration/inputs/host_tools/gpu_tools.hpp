#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "calibration/inputs/host_facts.hpp"
#include "calibration/inputs/host_tools/gpu_list.hpp"

namespace ddl {

/// A program that lists the devices of a host.
struct GpuTool {
  std::string_view name;
  std::string_view maker;  ///< the vendor of its devices; empty if it lists devices of any vendor
  /// A part of the first line of its table; other tools do not read the lines up to the next such line. May be empty.
  std::string_view head;
  /// The words of the command that lists the devices, up to the first empty one. Without a word, the program is not run.
  std::array<std::string_view, 6> query;
  /// Reads the devices from the output of that command; null: read like a saved output.
  ListedGpus (*of_query)(std::string_view text);
  /// Reads the devices from saved outputs.
  std::optional<DetectedGpus> (*of_saved)(const ToolLines& lines);
};

/// All tools, in the order in which they are tried.
[[nodiscard]] std::span<const GpuTool> gpu_tools();

/// The names of the tools that are run on a host: `nvidia-smi, rocm-smi or amd-smi` with the word `or`.
[[nodiscard]] std::string asked_gpu_tools(std::string_view last_word);
/// The devices of the first tool that finds some in saved outputs.
[[nodiscard]] std::optional<DetectedGpus> gpus_of_saved(const ToolLines& lines);
/// The devices that the first of the tools on this host lists.
[[nodiscard]] std::optional<DetectedGpus> detect_gpus(const HostPlaces& places);

}  // namespace ddl
