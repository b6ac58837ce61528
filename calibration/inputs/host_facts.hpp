#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

/// Where a host is asked what it is.
struct HostPlaces {
  std::string root = "/";   ///< folder of `sys` and `proc`
  std::string search_path;  ///< folders of nvidia-smi, lscpu and scontrol, as in PATH
};

/// Equal devices of a host.
struct DetectedGpus {
  std::string name;  ///< as the driver calls them
  int count = 0;
  std::optional<std::int64_t> memory_mib;
  std::string others{};  ///< devices of the host that are not counted, in words
};

struct DetectedProcessor {
  std::string name;
  int sockets = 1;
  std::string from;  ///< file or program
};

/// The fastest active ports of a host.
struct DetectedPorts {
  int count = 0;
  double gigabits = 0;  ///< a second, of one port
  std::string from;     ///< folder and rate as it is written there
};

struct DetectedNodes {
  int count = 0;
  bool with_gpus = false;  ///< only those are counted that have some
};

/// What a host says of itself; nothing if it does not.
struct HostFacts {
  std::optional<DetectedGpus> gpus;
  std::optional<DetectedProcessor> processor;
  std::optional<DetectedPorts> ports;
  std::optional<DetectedNodes> nodes;
};

/// Asks nvidia-smi, /proc/cpuinfo or lscpu, /sys/class/infiniband or /sys/class/net, and scontrol.
[[nodiscard]] HostFacts detect_host(const HostPlaces& places);

}  // namespace ddl
