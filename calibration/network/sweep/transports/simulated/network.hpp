#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/network/sweep/transport.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// The library's protocol for messages up to some size, such as NCCL's LL, LL128 and Simple.
struct SimulatedProtocol {
  std::string name{};
  double alpha = 1;                ///< α of the protocol, divided by α of the network
  double bandwidth = 1;            ///< share of the network's bandwidth, above 0 and at most 1
  std::optional<Bytes> largest{};  ///< largest message on two nodes; unset for the last protocol
  bool operator==(const SimulatedProtocol&) const = default;
};

/// A simulated network with known behavior. Pairs take α + mβ. Collectives follow the closed forms of
/// estimator/exchanges/collectives/times.hpp for rings, pairwise exchanges and trees, on the level that joins their group. A
/// group has as many rails as ranks per node. If there are more groups than rails of a node, groups share rails. Times are
/// multiplied by a log-normal factor of median one. No clock is read.
struct SimulatedNetwork {
  int ranks = 8, nodes = 2;  ///< the same number of ranks on every node
  Seconds latency_inside = Seconds(1e-6), latency = Seconds(5e-6);
  Bandwidth bandwidth_inside = Bandwidth(100e9), bandwidth = Bandwidth(12.5e9);
  int rails = 1;
  /// The slowdown of exchanges by concurrent kernels, and vice versa.
  double exchange_slowdown = 1, kernel_slowdown = 1;
  /// Protocols, selected by the size of the full vector. Without protocols, all messages have α and
  /// the bandwidth of the network.
  std::vector<SimulatedProtocol> protocols{};
  /// The largest message of a protocol is proportional to the number of nodes to this power.
  double protocol_growth = 1;
  /// Messages of at least this size use a rendezvous, as in MPI, and take three α. In an operation
  /// with parts, the size of a part counts.
  std::optional<Bytes> rendezvous{};
  double noise = 0.01;  ///< standard deviation of the factor's logarithm
  std::uint64_t seed = 1;
  bool operator==(const SimulatedNetwork&) const = default;
};
[[nodiscard]] std::unique_ptr<Transport> make_simulated_network(const SimulatedNetwork& network);

}  // namespace ddl
