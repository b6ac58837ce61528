#pragma once

#include <vector>

#include <Eigen/Core>

#include "calibration/network/fits/fit.hpp"

namespace ddl {

/// The number of ranks and nodes. Zero nodes: unknown.
struct RankCount {
  double ranks = 2;
  double nodes = 0;
  friend bool operator==(const RankCount&, const RankCount&) = default;
};

/// The candidate algorithms of an operation. Hierarchical ones are included only with `several_levels`, a ring on several
/// rails only with `several_shapes`, which means different numbers of ranks per node: otherwise it cannot be distinguished
/// from a ring with another β.
[[nodiscard]] std::vector<ExchangeAlgorithm> algorithms_of(Collective operation, bool several_levels, bool several_shapes);
/// The algorithm that is assumed if all times have the same rank count, which cannot distinguish algorithms. It is the one
/// that libraries use for large messages.
[[nodiscard]] ExchangeAlgorithm usual_algorithm(Collective operation);

/// Number of terms of an algorithm's time. The last two are those of α and β.
[[nodiscard]] Eigen::Index term_count(ExchangeAlgorithm algorithm);
/// The factor of each coefficient for a message of `bytes` of the full vector: rounds for α, bytes for β.
[[nodiscard]] Eigen::VectorXd terms_of(ExchangeAlgorithm algorithm, Collective operation, RankCount count, double bytes);

}  // namespace ddl
