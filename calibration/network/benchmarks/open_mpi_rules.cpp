#include "calibration/network/benchmarks/open_mpi_rules.hpp"

namespace ddl {
namespace {

using Messages = std::vector<RankMessages>;

/// The messages of Rabenseifner's algorithm: half of the vector, then a quarter, and so on; then
/// the same messages in reverse order.
Messages rabenseifner(double ranks, double bytes) {
  if (ranks < 4) return {{2, bytes / 2}};
  return {{2, bytes / 2}, {2, bytes / 4}};
}

Messages ring_allreduce(double ranks, double bytes) { return {{2 * (ranks - 1), bytes / ranks}}; }

Messages recursive_doubling(double ranks, double bytes) { return {{ranks < 4 ? 1.0 : 2.0, bytes}}; }

Messages allreduce(double ranks, double bytes) {
  if (ranks < 4) {
    // Recursive doubling is used below 4 KiB and from 8 to 16 KiB, recursive halving from 256 KiB on, and rings for all
    // other sizes.
    if (bytes >= 262144) return rabenseifner(ranks, bytes);
    const bool doubles = (bytes >= 8 && bytes < 4096) || (bytes >= 8192 && bytes < 16384);
    return doubles ? recursive_doubling(ranks, bytes) : ring_allreduce(ranks, bytes);
  }
  if (bytes < 16) return ring_allreduce(ranks, bytes);
  return bytes < 8192 ? recursive_doubling(ranks, bytes) : rabenseifner(ranks, bytes);
}

Messages reduce_scatter(double ranks, double bytes) {
  if (ranks < 4) return {{1, bytes / 2}};
  if (bytes < 262144) return {{1, bytes / 2}, {1, bytes / 4}};  // recursive halving
  return {{ranks - 1, bytes / ranks}};                          // ring
}

Messages allgather(double ranks, double bytes) {
  if (ranks < 4) return {{1, bytes / 2}};
  return {{1, bytes / 4}, {1, bytes / 2}};  // recursive doubling
}

}  // namespace

std::optional<std::vector<RankMessages>> open_mpi_messages(Collective operation, double ranks, double bytes) {
  if (ranks != 2 && ranks != 4) return std::nullopt;
  switch (operation) {
    case Collective::allreduce:
      return allreduce(ranks, bytes);
    case Collective::allgather:
      return allgather(ranks, bytes);
    case Collective::reduce_scatter:
      return reduce_scatter(ranks, bytes);
    case Collective::all_to_all:
      return Messages{{ranks - 1, bytes / ranks}};  // one message to each of the other ranks, at all sizes
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::point_to_point:
      break;
  }
  return std::nullopt;
}

}  // namespace ddl
