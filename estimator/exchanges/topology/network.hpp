#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/exchanges/topology/contention.hpp"
#include "estimator/exchanges/topology/max_min.hpp"

namespace ddl {

/// What the slowest of a phase's flows gets between nodes, and where it is held back.
struct NetworkShare {
  double rate = 0;  ///< bytes per second; zero where no flow leaves its node
  std::string_view where;
  double flows = 1;  ///< on that link, and
  double links = 1;  ///< how many parallel ones it is
  double phi = 1;    ///< rate of a flow alone on single links, over `rate`
  double hops = 0;   ///< links between the first and the last node's, of the longest way
};

/// The links between the nodes of a machine, one by one and each for one direction, and the way from node to node.
class Network {
 public:
  /// A kind of link: what to call it, and what one of the links bundled in it carries.
  struct Kind {
    std::string name;
    double bandwidth = 0;
  };
  /// One or several parallel links.
  struct Bundle {
    double capacity = 0;
    const Kind* kind = nullptr;
  };

  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Lays the flows of all groups on the links at once; max-min fair shares. What it has worked out it keeps.
  [[nodiscard]] NetworkShare share(const Group& group, const Flows& flows) const;

  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Bundle>& bundles() const { return bundles_; }
  /// Links from a node to another, in order; `lane` as lane_of says.
  virtual void route(int from, int to, int lane, std::vector<Crossing>& path) const = 0;
  /// Which of a node's links a flow takes to this device of the other node, where that makes a difference: -1 for all of
  /// them.
  [[nodiscard]] virtual int lane_of(int device, bool striped) const;

 protected:
  Network(int nodes, int devices_per_node, const LinkLevel& nic);
  /// Adds a link and says its index.
  std::size_t add(const Kind& kind, double links);

  int nodes_, devices_per_node_;
  Kind nic_;  ///< of a node into the network

 private:
  [[nodiscard]] NetworkShare lay(const Group& group, const Flows& flows) const;

  std::vector<Bundle> bundles_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<double>, NetworkShare> known_;
};

/// The links that a machine's levels and shape describe; none for a fat tree, whose levels are enough (`share_of_levels`).
[[nodiscard]] std::shared_ptr<const Network> make_network(const Machine& machine);

// One file each.
/// A fat tree link by link, where the others' flows are to be looked at one by one. Levels with parts of links are bundles.
[[nodiscard]] std::shared_ptr<const Network> fat_tree_network(const Machine& machine);
/// Rail r of every node leads to switch r of its unit, and switches r of all units to spine r.
[[nodiscard]] std::shared_ptr<const Network> rail_optimised_network(const Machine& machine);
/// Groups of routers, each two of which have a link; each two groups have links between them [Kim et al., ISCA 2008].
/// Minimal ways: to the router that has a link to the group, over it, to the router of the node.
[[nodiscard]] std::shared_ptr<const Network> dragonfly_network(const Machine& machine);
/// Nodes in a grid whose rows are closed; dimension by dimension, the shorter way round, both where they are equal.
[[nodiscard]] std::shared_ptr<const Network> torus_network(const Machine& machine);
/// A ring with links to nodes further on; a message takes the link that brings it nearest, over and over.
[[nodiscard]] std::shared_ptr<const Network> distributed_loop_network(const Machine& machine);

}  // namespace ddl
