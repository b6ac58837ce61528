#pragma once

#include <cstddef>
#include <vector>

#include "estimator/facts/model_facts.hpp"

namespace ddl {

/// A tensor that a layer of one unit writes and a layer of a later unit reads.
struct UnitTensor {
  int tensor = 0;         ///< the layer that writes the tensor
  int reader = 0;         ///< the first layer of the later unit that reads the tensor
  std::size_t input = 0;  ///< the place of the tensor among the inputs of this layer
  bool is_lone = false;   ///< whether no other layer reads the tensor
};

/// The tensors between two units, from the earlier to the later one.
struct UnitLink {
  std::size_t from = 0, to = 0;
  std::vector<UnitTensor> tensors;
};

/// The layers of a model in units: nodes of a graph, whose links are tensors between them. A unit is a sequence of layers.
struct UnitGraph {
  std::vector<int> firsts;  ///< the first layer of each unit
  /// For each unit: the number of places before its first layer, or at it, that one tensor alone crosses. Units with equal
  /// numbers are parts of the same branches.
  std::vector<int> cuts_before;
  std::vector<UnitLink> links;
  /// The order in which units can be eliminated, each with at most two neighbors when it is eliminated.
  std::vector<std::size_t> order;
};

/// Returns the units of a model. They begin before layers with weights, before blocks and after the last matrix layer, if
/// one tensor alone crosses there. Where several tensors cross, such as skip connections, they begin at blocks and at matrix
/// layers outside of blocks. Branches that cannot be eliminated in this way are one unit.
[[nodiscard]] UnitGraph unit_graph(const ModelFacts& facts);

/// A state for each unit, and the sum of its costs.
struct UnitStates {
  double cost = 0;  ///< infinite if there are no possible states
  std::vector<std::size_t> of_unit;
};
/// Returns the states of least cost: of_unit[u][s] for unit u in state s, plus of_link[l][s·S + t] for a link from a unit in
/// state s to a unit in state t of S. Units are eliminated one after another: each has the best state for every pair of
/// states of its neighbors [Jia et al., ICML 2018, section 5.2]. Exact; takes S² steps for a unit with one neighbor and S³
/// for a unit with two.
[[nodiscard]] UnitStates least_states(const UnitGraph& graph, std::vector<std::vector<double>> of_unit,
                                      const std::vector<std::vector<double>>& of_link);

}  // namespace ddl
