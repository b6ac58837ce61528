#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/network/sweep/transport.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// How a library sends messages up to some size, as NCCL's LL, LL128 and Simple do.
struct SimulatedProtocol {
  std::string name{};
  double alpha = 1;                ///< of the network's
  double bandwidth = 1;            ///< share of the network's, from above 0 to 1
  std::optional<Bytes> largest{};  ///< message on two nodes; nothing of the last protocol
  bool operator==(const SimulatedProtocol&) const = default;
};

/// A network that does not exist, of which everything is known: pairs take α + mβ, collectives what the closed forms of
/// estimator/inputs/collective.hpp say of rings, pairwise exchanges and trees on the level that their group crosses.
/// A group has as many rails as ranks on a node; groups beyond the rails of a node share them. Times are multiplied with a
/// log-normal factor of median one; no clock is read.
struct SimulatedNetwork {
  int ranks = 8, nodes = 2;  ///< as many ranks on every node
  Seconds latency_inside = Seconds(1e-6), latency = Seconds(5e-6);
  Bandwidth bandwidth_inside = Bandwidth(100e9), bandwidth = Bandwidth(12.5e9);
  int rails = 1;
  /// What kernels make of exchanges beside them, and the other way round.
  double exchange_slowdown = 1, kernel_slowdown = 1;
  /// By the size of the message, of the full vector; without any, all messages go at the network's own α and bandwidth.
  std::vector<SimulatedProtocol> protocols{};
  /// The largest message of a protocol grows with the number of nodes to this power.
  double protocol_growth = 1;
  /// Messages of a step from this size on ask before they are sent, as MPI's do, and take three α.
  std::optional<Bytes> rendezvous{};
  double noise = 0.01;  ///< standard deviation of the factor's logarithm
  std::uint64_t seed = 1;
  bool operator==(const SimulatedNetwork&) const = default;
};
[[nodiscard]] std::unique_ptr<Transport> make_simulated_network(const SimulatedNetwork& network);

}  // namespace ddl
