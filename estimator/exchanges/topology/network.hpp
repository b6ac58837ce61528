#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/exchanges/topology/contention.hpp"
#include "estimator/exchanges/topology/max_min.hpp"

namespace ddl {

/// The rate of the slowest flow between nodes, and the link that limits this flow. All flows run at the same time.
struct NetworkShare {
  double rate = 0;  ///< bytes per second; zero if no flow leaves its node
  std::string_view where;
  double flows = 1;  ///< flows on the limiting link
  double links = 1;  ///< number of parallel links in the limiting link
  double phi = 1;    ///< rate of a flow that is alone on single links, divided by `rate`
  double hops = 0;   ///< links on the longest route, except the links of the sending node and of the receiving node
};

/// The links between the nodes of a machine, one by one and per direction, and the routes between nodes.
class Network {
 public:
  /// A kind of link: its name, and the bandwidth of a single link. A bundle consists of links of one kind.
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

  /// Puts the flows of all groups on the links at once. Returns the share of the slowest flow. Results are cached.
  [[nodiscard]] NetworkShare share(const Group& group, const Flows& flows) const;

  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Bundle>& bundles() const { return bundles_; }
  /// Appends to `path` the links of the route from one node to another, in order. `lane`: result of lane_of.
  virtual void route(int from, int to, int lane, std::vector<Crossing>& path) const = 0;
  /// Returns the link of a node that a flow to this device of another node uses; -1 if the flow uses all links.
  [[nodiscard]] virtual int lane_of(int device, bool striped) const;

 protected:
  Network(int nodes, int devices_per_node, const LinkLevel& nic);
  /// Adds a link and returns its index.
  std::size_t add(const Kind& kind, double links);

  int nodes_, devices_per_node_;
  Kind nic_;  ///< a node's link into the network

 private:
  [[nodiscard]] NetworkShare lay(const Group& group, const Flows& flows) const;

  std::vector<Bundle> bundles_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<double>, NetworkShare> known_;
};

/// Returns the links that a machine's levels and shape describe. Null for a fat tree, because
/// `share_of_levels` computes shares from its levels.
[[nodiscard]] std::shared_ptr<const Network> make_network(const Machine& machine);

// Each of the following networks is defined in its own file.

/// Returns a rail-optimised network: rail r of every node leads to switch r of its unit, and
/// switches r of all units lead to spine r.
[[nodiscard]] std::shared_ptr<const Network> rail_optimised_network(const Machine& machine);
/// Returns groups of fully connected routers, with links between each pair of groups [Kim et al., ISCA 2008]. Routes are
/// minimal: to the router with a link to the target group, over that link, and then to the router of the target node.
[[nodiscard]] std::shared_ptr<const Network> dragonfly_network(const Machine& machine);
/// Returns nodes in a grid whose rows are rings. Routes are dimension-ordered. In each dimension, a
/// route takes the shorter way round, or both ways if they are equally long.
[[nodiscard]] std::shared_ptr<const Network> torus_network(const Machine& machine);
/// Returns a ring with additional links to nodes further on. At each hop, a message takes the link
/// that ends nearest to its target.
[[nodiscard]] std::shared_ptr<const Network> distributed_loop_network(const Machine& machine);
/// Returns optical circuits between nodes at given distances, and a packet-switched network between all nodes. Circuits are
/// set up once, before the training ("one-shot reconfiguration") [Wang et al., TopoOpt, NSDI 2023]. Distances refer to the
/// whole machine, so a ring over some of its nodes needs the packet-switched network for its last hop.
[[nodiscard]] std::shared_ptr<const Network> optical_circuits_network(const Machine& machine);

}  // namespace ddl
