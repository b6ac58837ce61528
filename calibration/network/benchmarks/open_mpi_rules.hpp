#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "estimator/inputs/collective.hpp"

namespace ddl {

/// What files call the library whose rules are known here: `library=openmpi-4.1`.
inline constexpr std::string_view open_mpi_41 = "openmpi-4.1";

/// Bytes from which on its messages over TCP ask before they are sent (btl_tcp_eager_limit).
inline constexpr double open_mpi_eager_limit = 65536;

/// Messages of one size that a rank sends one after the other.
struct RankMessages {
  double count = 0;
  double bytes = 0;
};

/// How Open MPI 4.1 runs an operation by default, as messages of one rank: the fixed decisions of its component `tuned`
/// (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c). `bytes` are of all parts. Nothing for numbers of ranks other than 2
/// and 4, and for operations that send from one rank in pieces.
[[nodiscard]] std::optional<std::vector<RankMessages>> open_mpi_messages(Collective operation, double ranks, double bytes);

}  // namespace ddl
