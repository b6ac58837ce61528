#pragma once

#include <vector>

#include <Eigen/Core>

#include "calibration/network/fits/fit.hpp"

namespace ddl {

/// The numbers of ranks and nodes; 0 nodes means unknown.
struct RankCount {
  double ranks = 2;
  double nodes = 0;
  friend bool operator==(const RankCount&, const RankCount&) = default;
};

/// The candidate algorithms of an operation. Hierarchical algorithms are included only with `several_levels`. A ring on
/// several rails is included only with `several_shapes` (different numbers of ranks per node), because otherwise it is
/// indistinguishable from a ring with another β.
[[nodiscard]] std::vector<ExchangeAlgorithm> algorithms_of(Collective operation, bool several_levels, bool several_shapes);
/// The algorithm that is assumed if all times have the same rank count. Such times do not
/// distinguish algorithms. Libraries use this algorithm for large messages.
[[nodiscard]] ExchangeAlgorithm usual_algorithm(Collective operation);

/// Number of terms in the formula of an algorithm's time. The last two terms are those of α and β.
[[nodiscard]] Eigen::Index term_count(ExchangeAlgorithm algorithm);
/// The factor of each coefficient for a message of `bytes` of the full vector: rounds for α, bytes for β.
[[nodiscard]] Eigen::VectorXd terms_of(ExchangeAlgorithm algorithm, Collective operation, RankCount count, double bytes);

}  // namespace ddl
