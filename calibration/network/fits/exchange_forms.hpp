#pragma once

#include <vector>

#include <Eigen/Core>

#include "calibration/network/fits/fit.hpp"

namespace ddl {

/// How many ranks on how many nodes; no nodes: not known.
struct RankCount {
  double ranks = 2;
  double nodes = 0;
  friend bool operator==(const RankCount&, const RankCount&) = default;
};

/// The algorithms an operation may be run by. Hierarchical ones only where `several_levels`, a ring on several rails only
/// where `several_shapes`: unlike numbers of ranks a node, without which it is a ring of another β.
[[nodiscard]] std::vector<ExchangeAlgorithm> algorithms_of(Collective operation, bool several_levels, bool several_shapes);
/// What one rank count's times are read as where nothing tells algorithms apart: what libraries run for large messages.
[[nodiscard]] ExchangeAlgorithm usual_algorithm(Collective operation);

/// Whether the algorithm works inside nodes and between them, so that it needs to know the nodes.
[[nodiscard]] bool is_hierarchical(ExchangeAlgorithm algorithm);
/// Number of terms of which an algorithm's time is the sum. The last two are α's and β's.
[[nodiscard]] Eigen::Index term_count(ExchangeAlgorithm algorithm);
/// What each coefficient is multiplied with for a message of `bytes` of the full vector: rounds for α, bytes for β.
[[nodiscard]] Eigen::VectorXd terms_of(ExchangeAlgorithm algorithm, Collective operation, RankCount count, double bytes);

}  // namespace ddl
