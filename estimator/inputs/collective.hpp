#pragma once

#include "core/enum_array.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// α, β and the time to add a byte, for a message on one link.
struct Link {
  Seconds alpha{};
  SecondsPerByte beta{};
  /// Time to add one byte into a partial sum; zero by default.
  SecondsPerByte add{};
};

enum class Collective { allreduce, allgather, reduce_scatter, all_to_all, broadcast, reduce, point_to_point };
template <>
inline constexpr EnumNames<Collective> enum_names<Collective>{"allreduce", "allgather", "reduce-scatter", "all-to-all",
                                                              "broadcast", "reduce",    "point-to-point"};

enum class AllreduceAlgorithm {
  linear,
  tree,
  butterfly,
  ring,
  rabenseifner,
  shifted_halving_doubling,
  far_halving_doubling,  ///< as rabenseifner, but the first round exchanges half of the vector over the largest distance
  hierarchical,
  multi_leader,
  leader,
  parameter_server,
  reduce_broadcast,
  sparse,
  double_tree,
  in_network  ///< switches add the vectors: SHARP, NVLink SHARP
};
template <>
inline constexpr EnumNames<AllreduceAlgorithm> enum_names<AllreduceAlgorithm>{"linear",
                                                                              "tree",
                                                                              "butterfly",
                                                                              "ring",
                                                                              "rabenseifner",
                                                                              "shifted-halving-doubling",
                                                                              "far-halving-doubling",
                                                                              "hierarchical",
                                                                              "multi-leader",
                                                                              "leader",
                                                                              "parameter-server",
                                                                              "reduce-broadcast",
                                                                              "sparse",
                                                                              "double-tree",
                                                                              "in-network"};

}  // namespace ddl
