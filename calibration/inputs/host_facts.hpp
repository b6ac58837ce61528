#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// The folders in which facts about a host are looked up.
struct HostPlaces {
  std::string root = "/";   ///< folder of `sys` and `proc`
  std::string search_path;  ///< folders that contain nvidia-smi, lscpu, scontrol and others, as in PATH
};

/// The GPUs of one model in a host.
struct DetectedGpus {
  std::string name;  ///< name of the devices in the driver
  int count = 0;
  std::optional<std::int64_t> memory_mib;
  std::string others{};  ///< description of the host's devices that are not counted
  std::string maker{};   ///< NVIDIA, AMD, Intel or Habana
  std::string tool{};    ///< the program that listed the devices
};

/// The links between the NVIDIA GPUs of a host, as `nvidia-smi topo -m` shows them.
struct DetectedLinks {
  enum class Kind { all, some, none };
  Kind kind = Kind::none;           ///< whether all pairs, some pairs or no pair of GPUs have NVLink
  int links = 0;                    ///< NVLinks of a GPU; 0: unknown
  std::optional<double> link_gb{};  ///< GB/s of one NVLink in one direction, if `nvidia-smi nvlink -s` states it
  std::string path{};               ///< the longest path of a pair without NVLink: PIX, PXB, PHB, NODE or SYS
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

/// The rate of one active port: in Gb/s, and as the text on the host.
struct PortRate {
  double gigabits = 0;
  std::string text;
};

struct DetectedNodes {
  int count = 0;
  bool with_gpus = false;  ///< whether only nodes with GPUs are counted
  std::string others{};    ///< description of the nodes with other GPUs, which are not counted
};

/// Facts that a host reports about itself. Facts that the host does not report are unset.
struct HostFacts {
  std::optional<DetectedGpus> gpus;
  std::optional<DetectedLinks> links{};
  std::optional<DetectedProcessor> processor;
  std::optional<DetectedPorts> ports;
  std::optional<DetectedNodes> nodes;
};

/// The vendor of a GPU with this name. Names without a known word are those of NVIDIA.
[[nodiscard]] std::string maker_of(const std::string& gpu);
/// Whether two names of GPUs have the same chip and form, as drivers of different years print them: `A100-SXM4-40GB`,
/// `NVIDIA A100-SXM4-80GB`. Sizes of memory are not compared.
[[nodiscard]] bool is_same_gpu(const std::string& a, const std::string& b);

/// Throws Error if a tool lists more GPUs or ports than a node has: the outputs of many nodes are then concatenated.
void require_one_node(std::size_t count, std::string_view things, std::string_view tool);
/// The ports with the highest rate; empty if all ports are so slow that they only serve administration.
[[nodiscard]] std::optional<DetectedPorts> fastest_port(const std::vector<PortRate>& ports, std::string_view from);
/// Collects facts from the first tool that lists devices (host_tools/gpu_tools.hpp), /proc/cpuinfo or
/// lscpu, /sys/class/infiniband or /sys/class/net, and scontrol.
[[nodiscard]] HostFacts detect_host(const HostPlaces& places);

}  // namespace ddl
