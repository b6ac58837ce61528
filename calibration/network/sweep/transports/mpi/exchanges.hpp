#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "calibration/network/sweep/operation.hpp"

namespace ddl::mpi {

/// Memory to send from and to receive into, which grows and is never given back.
class Buffers {
 public:
  /// So many bytes each, all of them written to.
  void resize(std::size_t sent, std::size_t received);
  [[nodiscard]] void* sent() { return sent_.data(); }
  [[nodiscard]] void* received() { return received_.data(); }

 private:
  std::vector<float> sent_, received_;
};

/// Seconds that one of `repetitions` exchanges took this rank, as OSU's micro-benchmarks count them: collectives one by one
/// after a barrier each, latency as half a round trip, bandwidth as a window of messages and a word back.
[[nodiscard]] double run_exchange(SweepOperation operation, std::int64_t bytes, int window, int repetitions, MPI_Comm group,
                                  Buffers& buffers);

}  // namespace ddl::mpi
