#include "calibration/network/fits/exchange_forms.hpp"

#include <algorithm>

#include "calibration/network/benchmarks/open_mpi_rules.hpp"
#include "estimator/exchanges/collectives/rounds.hpp"

namespace ddl {

std::vector<ExchangeAlgorithm> algorithms_of(Collective operation, bool several_levels, bool several_shapes) {
  using enum ExchangeAlgorithm;
  std::vector<ExchangeAlgorithm> found;
  switch (operation) {
    case Collective::point_to_point:
      return {direct};
    case Collective::allreduce:
      // Tree and butterfly differ by a constant factor, which α and β absorb, so the tree is reported.
      found = {ring, rabenseifner, butterfly, tree, pipelined_tree, linear, in_switch};
      if (several_levels) {
        found.insert(found.end(),
                     {hierarchical_ring, hierarchical_rabenseifner, hierarchical_tree, hierarchical_pipelined_tree});
      }
      if (several_shapes) found.push_back(striped_ring);
      return found;
    case Collective::allgather:
    case Collective::reduce_scatter:
      found = {ring, rabenseifner, in_switch};
      if (several_levels) found.insert(found.end(), {hierarchical_ring, hierarchical_rabenseifner});
      if (several_shapes) found.push_back(striped_ring);
      return found;
    case Collective::all_to_all:
      found = {pairwise, bruck};
      if (several_levels) found.push_back(hierarchical_pairwise);
      return found;
    case Collective::broadcast:
      return {tree, pipelined_tree, chain, scatter_allgather, linear, in_switch};
    case Collective::reduce:
      return {tree, pipelined_tree, chain, linear, in_switch};
  }
  return found;
}

ExchangeAlgorithm usual_algorithm(Collective operation) {
  switch (operation) {
    case Collective::allreduce:
    case Collective::allgather:
    case Collective::reduce_scatter:
      return ExchangeAlgorithm::ring;
    case Collective::all_to_all:
      return ExchangeAlgorithm::pairwise;
    case Collective::broadcast:
    case Collective::reduce:
      return ExchangeAlgorithm::tree;
    case Collective::point_to_point:
      return ExchangeAlgorithm::direct;
  }
  return ExchangeAlgorithm::direct;
}

Eigen::Index term_count(ExchangeAlgorithm algorithm) {
  switch (algorithm) {
    case ExchangeAlgorithm::hierarchical_ring:
    case ExchangeAlgorithm::hierarchical_tree:
    case ExchangeAlgorithm::hierarchical_rabenseifner:
      return 4;
    case ExchangeAlgorithm::open_mpi_41:
    case ExchangeAlgorithm::hierarchical_pipelined_tree:
      return 3;
    default:
      return 2;
  }
}

namespace {

/// The terms of Open MPI's algorithm: start-ups of messages with a rendezvous, start-ups of all messages, and bytes. In
/// cases that open_mpi_messages() does not cover, the terms are those of usual_algorithm().
Eigen::Vector3d open_mpi_terms(Collective operation, RankCount count, double bytes) {
  const auto messages = open_mpi_messages(operation, count.ranks, bytes);
  if (!messages) {
    const Eigen::VectorXd usual = terms_of(usual_algorithm(operation), operation, count, bytes);
    return {0, usual[0], usual[1]};
  }
  Eigen::Vector3d terms(0, 0, 0);
  for (const RankMessages& each : *messages) {
    terms += each.count * Eigen::Vector3d(each.bytes >= open_mpi_eager_limit ? 1 : 0, 1, each.bytes);
  }
  return terms;
}

}  // namespace

// The formulas come from estimator/exchanges/collectives/times.hpp. They lack the time of the reduction, because it cannot
// be distinguished from β. A formula with `halves` counts an Allreduce as two exchanges, such as a ring's Reduce-scatter and
// Allgather. [BH18] §2; pipelined trees: [SST09]; chain and scatter-allgather: [Thak05]; Bruck: [Bru97].
Eigen::VectorXd terms_of(ExchangeAlgorithm algorithm, Collective operation, RankCount count, double bytes) {
  const double ranks = count.ranks;
  const double nodes = std::max(count.nodes, 1.0);
  const double share = bytes * nodes / ranks;  // share of the vector that each rank of a node sends between nodes
  const double halves = operation == Collective::allreduce ? 2 : 1;
  const double rounds = log2_rounds(ranks);
  const double node_rounds = log2_rounds(nodes);
  switch (algorithm) {
    case ExchangeAlgorithm::direct:
      return Eigen::Vector2d(1, bytes);
    case ExchangeAlgorithm::linear:
      return halves * (ranks - 1) * Eigen::Vector2d(1, bytes);
    case ExchangeAlgorithm::tree:
      return halves * rounds * Eigen::Vector2d(1, bytes);
    case ExchangeAlgorithm::pipelined_tree:
      return halves * Eigen::Vector2d(rounds, bytes);
    case ExchangeAlgorithm::butterfly:
      return rounds * Eigen::Vector2d(1, bytes);
    case ExchangeAlgorithm::ring:
    case ExchangeAlgorithm::pairwise:
      return halves * (ranks - 1) * Eigen::Vector2d(1, bytes / ranks);
    case ExchangeAlgorithm::chain:
      return Eigen::Vector2d(ranks - 1, bytes);
    case ExchangeAlgorithm::bruck:
      return rounds * Eigen::Vector2d(1, bytes / 2);
    case ExchangeAlgorithm::rabenseifner:
      return halves * Eigen::Vector2d(rounds, (ranks - 1) / ranks * bytes);
    case ExchangeAlgorithm::scatter_allgather:
      return Eigen::Vector2d(rounds + ranks - 1, 2 * (ranks - 1) / ranks * bytes);
    case ExchangeAlgorithm::in_switch:
      return Eigen::Vector2d(1, bytes);
    case ExchangeAlgorithm::open_mpi_41:
      return open_mpi_terms(operation, count, bytes);
    case ExchangeAlgorithm::striped_ring:
      return halves * (ranks - 1) * Eigen::Vector2d(1, share / ranks);
    case ExchangeAlgorithm::hierarchical_ring:
      return Eigen::Vector4d(1, bytes, halves * (nodes - 1), halves * (nodes - 1) / nodes * share);
    case ExchangeAlgorithm::hierarchical_tree:
      return Eigen::Vector4d(1, bytes, halves * node_rounds, halves * node_rounds * share);
    case ExchangeAlgorithm::hierarchical_pipelined_tree:
      return Eigen::Vector3d(1, halves * node_rounds, halves * share);
    case ExchangeAlgorithm::hierarchical_rabenseifner:
      return Eigen::Vector4d(1, bytes, halves * node_rounds, halves * (nodes - 1) / nodes * share);
    case ExchangeAlgorithm::hierarchical_pairwise:
      return Eigen::Vector2d(ranks - 1, (nodes - 1) / nodes * bytes);
  }
  return Eigen::Vector2d(1, bytes);
}

}  // namespace ddl
