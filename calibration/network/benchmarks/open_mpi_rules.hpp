#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "estimator/inputs/collective.hpp"

namespace ddl {

/// The name of Open MPI 4.1 in files: `library=openmpi-4.1`. This file implements its decision rules.
inline constexpr std::string_view open_mpi_41 = "openmpi-4.1";

/// The smallest message, in bytes, that Open MPI sends over TCP by the rendezvous protocol (btl_tcp_eager_limit).
inline constexpr double open_mpi_eager_limit = 65536;

/// Messages of the same size that a rank sends in sequence.
struct RankMessages {
  double count = 0;
  double bytes = 0;
};

/// The messages of one rank in Open MPI 4.1's default algorithm of an operation: the fixed decisions of its component
/// `tuned` (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c). `bytes`: bytes of the full vector. Empty for numbers of ranks
/// other than 2 and 4, and for operations in which one rank sends the vector in segments.
[[nodiscard]] std::optional<std::vector<RankMessages>> open_mpi_messages(Collective operation, double ranks, double bytes);

}  // namespace ddl
