#include "estimator/inputs/collective.hpp"

#include <cassert>

namespace ddl {

std::string_view to_string(Collective operation) {
  switch (operation) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reduce-scatter";
    case Collective::all_to_all:
      return "all-to-all";
    case Collective::broadcast:
      return "broadcast";
    case Collective::reduce:
      return "reduce";
    case Collective::point_to_point:
      return "point-to-point";
  }
  assert(false);
  return {};
}

std::string_view to_string(AllreduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllreduceAlgorithm::linear:
      return "linear";
    case AllreduceAlgorithm::tree:
      return "tree";
    case AllreduceAlgorithm::butterfly:
      return "butterfly";
    case AllreduceAlgorithm::ring:
      return "ring";
    case AllreduceAlgorithm::rabenseifner:
      return "rabenseifner";
    case AllreduceAlgorithm::shifted_halving_doubling:
      return "shifted-halving-doubling";
    case AllreduceAlgorithm::hierarchical:
      return "hierarchical";
    case AllreduceAlgorithm::multi_leader:
      return "multi-leader";
    case AllreduceAlgorithm::leader:
      return "leader";
    case AllreduceAlgorithm::parameter_server:
      return "parameter-server";
    case AllreduceAlgorithm::reduce_broadcast:
      return "reduce-broadcast";
    case AllreduceAlgorithm::sparse:
      return "sparse";
    case AllreduceAlgorithm::double_tree:
      return "double-tree";
  }
  assert(false);
  return {};
}

std::optional<AllreduceAlgorithm> parse_allreduce_algorithm(std::string_view text) {
  for (const AllreduceAlgorithm algorithm : all_allreduce_algorithms) {
    if (to_string(algorithm) == text) return algorithm;
  }
  return std::nullopt;
}

}  // namespace ddl
