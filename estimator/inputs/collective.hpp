#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/quantity.hpp"

namespace ddl {

/// α, β and the cost of adding, for a message on one link.
struct Link {
  Seconds alpha{};
  SecondsPerByte beta{};
  /// Time to add one byte into a partial sum; zero by default.
  SecondsPerByte add{};
};

enum class Collective { allreduce, allgather, reduce_scatter, all_to_all, broadcast, reduce, point_to_point };
[[nodiscard]] std::string_view to_string(Collective operation);

enum class AllreduceAlgorithm {
  linear,
  tree,
  butterfly,
  ring,
  rabenseifner,
  shifted_halving_doubling,
  hierarchical,
  multi_leader,
  leader,
  parameter_server,
  reduce_broadcast,
  sparse,
  double_tree
};
inline constexpr std::array<AllreduceAlgorithm, 13> all_allreduce_algorithms{
    AllreduceAlgorithm::linear,           AllreduceAlgorithm::tree,
    AllreduceAlgorithm::butterfly,        AllreduceAlgorithm::ring,
    AllreduceAlgorithm::rabenseifner,     AllreduceAlgorithm::shifted_halving_doubling,
    AllreduceAlgorithm::hierarchical,     AllreduceAlgorithm::multi_leader,
    AllreduceAlgorithm::leader,           AllreduceAlgorithm::parameter_server,
    AllreduceAlgorithm::reduce_broadcast, AllreduceAlgorithm::sparse,
    AllreduceAlgorithm::double_tree};
[[nodiscard]] std::string_view to_string(AllreduceAlgorithm algorithm);
[[nodiscard]] std::optional<AllreduceAlgorithm> parse_allreduce_algorithm(std::string_view text);

}  // namespace ddl
