#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/collective_library.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

struct DeviceKernels;

/// What one device can do according to its data sheet.
struct Device {
  std::string name;
  std::vector<std::string> profile_names{};  ///< as drivers call it, and so profiles of it
  /// A host's own processor: it has no driver's context, no caching allocator and no NCCL.
  bool is_processor = false;
  /// Of CUDA, as in 8.0; nothing if the sheet does not say.
  std::optional<double> compute_capability{};
  /// Peak per precision, matrix units where the precision has them; nothing if the device lacks it.
  EnumArray<Precision, std::optional<FlopRate>> peak;
  Bytes memory{};
  Bandwidth memory_bandwidth{};
  /// Side of the output tile one matrix kernel works on: dimensions of a product are rounded up to it, so that slices
  /// thinner than a tile save nothing.
  double tile = 1;
  /// Fractions of the data sheet's peak and bandwidth that kernels of ample size reach.
  double attainable_peak = 1, attainable_bandwidth = 1;
  /// Fraction of their rate alone that products on matrix units keep up in training, where power limits the clock; in a
  /// precision of its own where the sheet says so.
  double sustained_peak = 1;
  EnumArray<Precision, std::optional<double>> sustained_peaks{};
  /// Streaming multiprocessors; nothing if the sheet does not say.
  std::optional<int> multiprocessors{};
  /// What is known of kernels of devices like this one, and of other devices, which stand in for what is not known of this
  /// one. Without either, kernels have their rooflines.
  std::shared_ptr<const DeviceKernels> kernels{}, other_kernels{};
  std::string kernels_file{};  ///< that the sheet names, or `none`; empty where it does not say
  /// Launch overhead of one kernel, including the framework's work; empty if it is not given.
  std::optional<Seconds> launch_overhead{};
  /// How many times as fast its host starts kernels as the host on which the launch overheads of software files were
  /// measured.
  double host_speed = 1;

  [[nodiscard]] std::optional<FlopRate> peak_at(Precision p) const { return peak[p]; }
  [[nodiscard]] double sustained_at(Precision p) const { return sustained_peaks[p].value_or(sustained_peak); }
};

/// One level of the interconnect, from the inside out: level 0 joins devices into a node, level 1 nodes into a rack, …
struct LinkLevel {
  std::string name;
  int units = 1;          ///< how many units of the level below one unit of this level joins
  Seconds latency{};      ///< α: start-up of a message whose widest hop is this level
  Bandwidth bandwidth{};  ///< of one rail, one direction
  /// Parallel links by which one unit of the level below reaches this level: NICs of a node, NVLink pairs of a device. May
  /// be a fraction where an over-subscribed level has fewer links than its units could fill.
  double rails = 1;
  /// How a library exchanges over links of this kind; nothing if the sheet does not say of which kind they are.
  std::optional<LibraryHabits> library{};
};

class Network;

/// How nodes are joined. Of a fat tree the levels say all; anything else lies outside the node, one level that is what leads
/// from a node into the network.
struct NetworkShape {
  enum class Kind { fat_tree, rail_optimised, dragonfly, torus, distributed_loop };
  Kind kind = Kind::fat_tree;
  std::vector<int> extents{};    ///< torus: nodes along each side, the last one counting fastest
  std::vector<int> shortcuts{};  ///< distributed loop: how many places on each node's links lead, in both directions
  int nodes_per_router = 1;      ///< dragonfly
  int routers_per_group = 1;     ///< dragonfly; a link joins each two of them
  int global_links = 1;          ///< dragonfly: of a router, to other groups
  Bandwidth link_bandwidth{};    ///< of one link between nodes or routers of a group, one direction
  Bandwidth global_bandwidth{};  ///< dragonfly: of one link between groups
  Seconds hop_latency{};         ///< that each link after the first adds to α
};

/// The way between devices and network through the host's memory, taken where a transfer cannot go directly.
struct HostPath {
  Bandwidth bandwidth{};                        ///< of one device-side link (PCIe), one direction
  int devices_per_link = 1;                     ///< devices that share it
  Seconds latency{};                            ///< start-up of a message between neighbors that is staged through the host
  std::optional<Bandwidth> memory_bandwidth{};  ///< of the memory of one node's host; nothing if the sheet does not say
};

/// Where samples come from.
struct Storage {
  std::optional<Bandwidth> shared_per_node;  ///< parallel file system, one node reading
  std::optional<Bandwidth> shared_total;     ///< parallel file system, everybody reading
  std::optional<Bandwidth> local_bandwidth;  ///< of a node's own disk
  std::optional<Bytes> local_capacity;
  std::optional<Bytes> host_memory;  ///< of a node; files that were read stay there while there is room
};

/// A cluster of equal devices, as its data sheet describes it.
struct Machine {
  std::string name;
  std::string description;
  Device device;
  std::vector<LinkLevel> levels;
  NetworkShape shape{};
  std::shared_ptr<const Network> network{};  ///< of that shape (make_network); none for a fat tree
  std::optional<HostPath> host;
  Storage storage;
  std::optional<double> price_per_gpu_hour;
  std::string currency = "USD";

  [[nodiscard]] int devices_per_node() const { return levels.empty() ? 1 : levels.front().units; }
  /// All devices of the machine.
  [[nodiscard]] std::int64_t devices() const;
};

}  // namespace ddl
