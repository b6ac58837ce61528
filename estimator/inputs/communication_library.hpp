#pragma once

#include <string>

#include "core/quantity.hpp"

namespace ddl {

/// How a communication library runs exchanges among GPUs of several nodes on one type of network, fitted to benchmarks of
/// several clusters. The α of a message is the α of the machine's level, and β follows from the rate of the level's links.
/// The members describe how the library uses the links. docs/formulas.md, "Collectives of NCCL and RCCL", has the formulas.
struct LibraryConstants {
  std::string fabric{};    ///< type of the network: `infiniband`, `ethernet`
  int clusters = 0;        ///< number of measured clusters
  Seconds call{};          ///< time that every collective takes in addition to its messages
  double tree_level = 1;   ///< between nodes, α of a level of a tree divided by α of a message in a ring
  double tree_inside = 1;  ///< inside a node, α of a level of a tree divided by α of a message in a ring
  double message = 1;      ///< α of a message of an all-to-all, divided by α of a message in a ring
  /// Number of ranks of a node that first collect their messages inside the node, and then send them together to one rank of
  /// another node.
  double grouped = 1;
  double ring_fill = 0;   ///< time to fill the pipeline of a ring, divided by √(start-ups · bytes)
  double tree_fill = 0;   ///< time to fill the pipeline of a tree, divided by √(start-ups · bytes)
  double all_to_all = 1;  ///< share of the links' rate that an all-to-all reaches
  /// Inside a node: small messages take a protocol that starts immediately and reaches a share of the rate, `quick` in a
  /// ring and `all_to_all_quick` in an all-to-all. Large messages take a protocol that starts later, by `bulk` or
  /// `all_to_all_bulk`.
  double quick = 1, all_to_all_quick = 1;
  Seconds bulk{}, all_to_all_bulk{};
  /// Inside a node: this number divided by the number of ranks is the share of the links that a ring leaves idle.
  double idle_links = 0;
  double doubt = 1;  ///< for clusters that are left out of the fit, 95 % of the times are predicted within this factor
  friend bool operator==(const LibraryConstants&, const LibraryConstants&) = default;
};

}  // namespace ddl
