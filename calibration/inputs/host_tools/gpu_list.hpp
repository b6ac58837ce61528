#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/inputs/host_facts.hpp"

namespace ddl {

/// The lines of saved outputs. Spaces and the frames of tables are removed from both ends of each line.
using ToolLines = std::vector<std::string_view>;
/// Devices one by one: name and memory in MiB.
using ListedGpus = std::vector<std::pair<std::string, std::optional<std::int64_t>>>;

/// The most frequent device, and a description of the others; empty for an empty list.
[[nodiscard]] std::optional<DetectedGpus> counted_gpus(const ListedGpus& listed, std::string maker, std::string tool);

/// The GPUs of the first host in the output of one tool. The list of the next host begins where a number or an address is
/// repeated.
class GpuList {
 public:
  explicit GpuList(std::string_view tool) : tool_(tool) {}

  void add(std::string_view name, std::optional<double> number);
  /// Sets the bus address of the next GPU.
  void add_address(std::string_view address) { is_over_ = is_over_ || !addresses_.insert(std::string(address)).second; }
  /// Reports that the list of a host begins. The host has `size` GPUs, of which the tool may list only some.
  void begin_host(double size = 1) {
    is_over_ = is_over_ || (!listed_.empty() && static_cast<double>(listed_.size()) >= size);
    if (!is_over_) host_size_ = size;
  }
  /// The memory of the last GPU, if it is not known yet.
  void add_memory(std::optional<std::int64_t> mebibytes);
  /// Adds a part to the memory of the last GPU.
  void add_part_of_memory(std::int64_t mebibytes);
  [[nodiscard]] std::optional<DetectedGpus> gpus() const;

 private:
  std::string_view tool_;
  ListedGpus listed_;
  std::optional<double> last_;
  double host_size_ = 1;
  std::set<std::string> addresses_;
  bool is_over_ = false;
};

/// The text after `key`, spaces and a colon, if the line starts with these.
[[nodiscard]] std::string_view after_key(std::string_view line, std::string_view key);
/// Whether a word is the address of a device on the PCI bus: `00000000:01:00.0`.
[[nodiscard]] bool is_bus_address(std::string_view word);

/// The GPUs in a table whose rows name a device and its bus address, as nvidia-smi prints it:
/// `|  0  NVIDIA L4  On | 00000000:01:00.0 |`, with the memory `437MiB / 23034MiB` in a later row.
[[nodiscard]] std::optional<DetectedGpus> gpus_of_table(const ToolLines& lines, std::string_view tool,
                                                        std::string_view head);

}  // namespace ddl
