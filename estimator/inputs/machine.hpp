#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/communication_library.hpp"
#include "estimator/inputs/failures.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

struct DeviceKernels;

/// The capabilities of one device according to its datasheet.
struct Device {
  std::string name;
  std::string noun{};                        ///< word for a device in reports: `NPU`; empty: depends on the kind of device
  std::vector<std::string> profile_names{};  ///< names of the device in drivers, and therefore in profiles
  int devices_per_card = 1;                  ///< 2 for each die of a card with two dies
  /// Whether the device is a host processor, which has no driver context, no caching allocator and no NCCL.
  bool is_processor = false;
  /// Whether the device is a TPU, which has neither CUDA's context nor NCCL.
  bool is_tpu = false;
  /// Whether the device is another accelerator than a GPU or a TPU, such as an NPU: it multiplies in matrix units in every
  /// precision.
  bool is_accelerator = false;
  /// CUDA compute capability, such as 8.0; unset if the datasheet does not give it.
  std::optional<double> compute_capability{};
  /// Peak rate per precision, of matrix units if they support the precision; unset if the device does not support it.
  EnumArray<Precision, std::optional<FlopRate>> peak;
  Bytes memory{};
  Bandwidth memory_bandwidth{};
  /// Side of the output tile of one matrix kernel. Dimensions of a product are rounded up to multiples of this side, so
  /// slices thinner than a tile save no time.
  double tile = 1;
  /// Fractions of the datasheet's peak and bandwidth that sufficiently large kernels reach.
  double attainable_peak = 1, attainable_bandwidth = 1;
  /// In training, the power limit lowers the clock. Products on matrix units then run at this fraction of the rate that they
  /// reach alone. A precision has its own fraction if the datasheet gives one. Unset: the fraction of the kernel data.
  std::optional<double> sustained_peak{};
  EnumArray<Precision, std::optional<double>> sustained_peaks{};
  double power = 0;  ///< power limit in watts; 0 if the datasheet does not give it
  /// Joules per FLOP of large matrix products in half precision, on a GPU that its power limit slows down. The power that is
  /// spent at every clock is excluded. Unset if it was not measured.
  std::optional<double> joules_per_flop{};
  /// Memory of a CUDA context with all kernels of PyTorch and its libraries; unset if it was not measured.
  std::optional<Bytes> whole_context{};
  /// The number of streaming multiprocessors; unset if the datasheet does not give it.
  std::optional<int> multiprocessors{};
  /// `kernels` has the constants fitted to this type of device. `other_kernels` has the constants of other devices, which
  /// are used where `kernels` has none. If both pointers are null, kernels have roofline times.
  std::shared_ptr<const DeviceKernels> kernels{}, other_kernels{};
  std::string kernels_file{};  ///< file of kernel constants, or `none`; empty if the datasheet gives neither
  /// Launch overhead of one kernel, including the framework's work. Unset if the datasheet gives no launch overhead.
  std::optional<Seconds> launch_overhead{};
  /// Speed of the device's host at launching kernels, relative to the host on which the launch overheads of software files
  /// were measured.
  double host_speed = 1;

  [[nodiscard]] std::optional<FlopRate> peak_at(Precision p) const { return peak[p]; }
  [[nodiscard]] std::optional<double> sustained_at(Precision p) const {
    return sustained_peaks[p] ? sustained_peaks[p] : sustained_peak;
  }
};

/// One level of the interconnect. Levels are counted from the inside out: level 0 joins devices into a node, level 1 joins
/// nodes into a rack, …
struct LinkLevel {
  std::string name;
  int units = 1;          ///< number of units of the level below that one unit of this level joins
  Seconds latency{};      ///< α: start-up of a message whose outermost level is this one
  Bandwidth bandwidth{};  ///< bandwidth of one rail in one direction
  /// The number of parallel links from one unit of the level below to this level: NICs of a node, NVLink pairs of a device.
  /// The number is a fraction if an over-subscribed level has fewer links than units.
  double rails = 1;
  /// How a communication library uses links of this type; unset if the datasheet does not name the type.
  std::optional<LibraryConstants> library{};
  /// The number of other units to which the rails lead, each to one of them; 0 if a switch joins all rails.
  double peers = 0;
};

class Network;

/// How nodes are connected. A fat tree is described by the levels alone. For other shapes, this struct describes the network
/// between nodes, and one level describes the connection of a node to the network.
struct NetworkShape {
  enum class Kind { fat_tree, rail_optimised, dragonfly, torus, distributed_loop, optical_circuits };
  Kind kind = Kind::fat_tree;
  std::vector<int> extents{};  ///< torus: nodes along each side; the last side varies fastest
  /// distributed loop: distances of each node's additional links, in places, in both directions; optical circuits: distances
  /// of the nodes at the ends of circuits
  std::vector<int> shortcuts{};
  int nodes_per_router = 1;    ///< dragonfly: nodes that are connected to one router
  int routers_per_group = 1;   ///< dragonfly: routers of a group; each pair of routers of a group has a link
  int global_links = 1;        ///< dragonfly: links of a router to other groups
  Bandwidth link_bandwidth{};  ///< bandwidth of one link between nodes or between routers of a group, in one direction
  /// Dragonfly: bandwidth of one link between groups. Optical circuits: bandwidth of a node into the packet-switched
  /// network.
  Bandwidth global_bandwidth{};
  Seconds hop_latency{};  ///< time that each link after the first adds to α
};

/// The path between devices and network through the host's memory, used if a transfer cannot go directly.
struct HostPath {
  Bandwidth bandwidth{};     ///< bandwidth of one device-side link (PCIe) in one direction
  int devices_per_link = 1;  ///< number of devices that share the link
  Seconds latency{};         ///< start-up of a message between neighbors that is staged through the host
  /// memory bandwidth of one node's host; unset if the datasheet does not give it
  std::optional<Bandwidth> memory_bandwidth{};
  /// processor cores of a node, which decode images, divided by the node's devices; unset if unknown
  std::optional<double> cores_per_device{};
  std::optional<double> power{};  ///< watts of a node without its devices, while they train; unset if unknown
};

/// The storage that samples are read from.
struct Storage {
  std::optional<Bandwidth> shared_per_node;  ///< rate of the parallel file system while one node reads
  std::optional<Bandwidth> shared_total;     ///< rate of the parallel file system while all nodes read
  std::optional<double> shared_files;        ///< files that all nodes together open on the parallel file system in a second
  std::optional<Bandwidth> local_bandwidth;  ///< bandwidth of a node's own disk
  std::optional<Bytes> local_capacity;
  std::optional<Bytes> host_memory;  ///< memory of a node's host, which caches as many of the data set's files as fit
};

/// A cluster of equal devices, as its datasheet describes it.
struct Machine {
  std::string name;
  std::string description;
  Device device;
  std::vector<LinkLevel> levels;
  NetworkShape shape{};
  std::shared_ptr<const Network> network{};  ///< the network that `shape` describes (make_network); null for a fat tree
  std::optional<HostPath> host;
  Storage storage;
  Failures failures{};
  std::optional<double> price_per_gpu_hour;
  std::string currency = "USD";
  bool rents_nodes = false;  ///< whether the price is that of a node, which is rented as a whole
  std::string software{};    ///< the software that trains on the machine unless the user names another; empty: not known

  [[nodiscard]] int devices_per_node() const { return levels.empty() ? 1 : levels.front().units; }
  /// Returns the number of devices of the machine.
  [[nodiscard]] std::int64_t devices() const;
};

}  // namespace ddl
