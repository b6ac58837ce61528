#pragma once

#include <memory>
#include <vector>

#include "estimator/exchanges/topology/network.hpp"

namespace ddl {

/// A fat tree with every link, for analyzing flows one by one. Every unit has one bundle of links up to the next level and
/// one down.
class FatTree final : public Network {
 public:
  explicit FatTree(const Machine& machine) : Network(nodes_of(machine), machine.devices_per_node(), machine.levels[1]) {
    kinds_.reserve(machine.levels.size());
    int units = nodes_;
    int nodes_in_unit = 1;
    for (std::size_t level = 1; level < machine.levels.size(); ++level) {
      const LinkLevel& at = machine.levels[level];
      const Kind& kind = kinds_.emplace_back(Kind{at.name, at.bandwidth.value()});
      sizes_.push_back(nodes_in_unit);
      first_.push_back(bundles().size());
      for (int unit = 0; unit < 2 * units; ++unit) add(kind, at.rails);
      units /= at.units;
      nodes_in_unit *= at.units;
    }
  }

  void route(int from, int to, int, std::vector<Crossing>& path) const override {
    for (std::size_t level = 0; level < sizes_.size(); ++level) {
      const int source = from / sizes_[level];
      const int target = to / sizes_[level];
      if (source == target) return;
      path.push_back({first_[level] + 2 * static_cast<std::size_t>(source), 1});
      path.push_back({first_[level] + 2 * static_cast<std::size_t>(target) + 1, 1});
    }
  }

 private:
  static int nodes_of(const Machine& machine) {
    int nodes = 1;
    for (std::size_t level = 1; level < machine.levels.size(); ++level) nodes *= machine.levels[level].units;
    return nodes;
  }

  std::vector<Kind> kinds_;         ///< kind of link of each level outside the node
  std::vector<int> sizes_;          ///< for each level outside the node, nodes per unit of the level below
  std::vector<std::size_t> first_;  ///< for each level outside the node, index of the first bundle
};

inline std::shared_ptr<const Network> fat_tree_network(const Machine& machine) { return std::make_shared<FatTree>(machine); }

}  // namespace ddl
