#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddl {

/// The folders in which facts about a host are looked up.
struct HostPlaces {
  std::string root = "/";   ///< folder that contains `sys` and `proc`
  std::string search_path;  ///< folders that contain nvidia-smi, lscpu and scontrol, as in PATH
};

/// The GPUs of one model in a host.
struct DetectedGpus {
  std::string name;  ///< name of the devices in the driver
  int count = 0;
  std::optional<std::int64_t> memory_mib;
  std::string others{};  ///< description of the host's devices that are not counted
};

struct DetectedProcessor {
  std::string name;
  int sockets = 1;
  std::string from;  ///< the file or the program that reported the processors
};

/// The fastest active ports of a host.
struct DetectedPorts {
  int count = 0;
  double gigabits = 0;  ///< gigabits per second of one port
  std::string from;     ///< the folder that describes the ports, and the rate as written in that folder
};

struct DetectedNodes {
  int count = 0;
  bool with_gpus = false;  ///< whether only nodes with GPUs are counted
};

/// Facts that a host reports about itself. Facts that the host does not report are unset.
struct HostFacts {
  std::optional<DetectedGpus> gpus;
  std::optional<DetectedProcessor> processor;
  std::optional<DetectedPorts> ports;
  std::optional<DetectedNodes> nodes;
};

/// Collects facts from nvidia-smi, /proc/cpuinfo or lscpu, /sys/class/infiniband or /sys/class/net, and scontrol.
[[nodiscard]] HostFacts detect_host(const HostPlaces& places);

}  // namespace ddl
