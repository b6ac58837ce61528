#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "calibration/network/sweep/operation.hpp"

namespace ddl::mpi {

/// Send and receive buffers, which grow and are never freed.
class Buffers {
 public:
  /// Resizes the send buffer and the receive buffer, in bytes, and writes to all pages of both.
  void resize(std::size_t sent, std::size_t received);
  [[nodiscard]] void* sent() { return sent_.data(); }
  [[nodiscard]] void* received() { return received_.data(); }

 private:
  std::vector<float> sent_, received_;
};

/// The mean time of this rank per exchange over `repetitions` exchanges, in seconds. As in OSU's micro-benchmarks,
/// collectives are timed one by one with a barrier before each; latency is half a round trip; bandwidth is a window of
/// messages and an acknowledgement.
[[nodiscard]] double run_exchange(SweepOperation operation, std::int64_t bytes, int window, int repetitions, MPI_Comm group,
                                  Buffers& buffers);

}  // namespace ddl::mpi
