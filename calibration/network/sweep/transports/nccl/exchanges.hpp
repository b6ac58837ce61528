#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "calibration/network/sweep/operation.hpp"

namespace ddl::nccl {

/// GPU send and receive buffers, which grow.
class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();
  /// Resizes the send buffer and the receive buffer, in bytes. Queues work in the stream that fills both with zeros.
  void resize(std::size_t sent, std::size_t received, cudaStream_t stream);
  /// Drops the buffers without freeing their memory, because cudaFree would wait for a device that does not respond.
  void forget();
  [[nodiscard]] char* sent() const { return sent_; }
  [[nodiscard]] char* received() const { return received_; }

 private:
  char* sent_ = nullptr;
  char* received_ = nullptr;
  std::size_t sent_bytes_ = 0, received_bytes_ = 0;
};

/// The communicator of a rank in a group.
struct Group {
  ncclComm_t communicator = nullptr;
  int rank = 0, ranks = 1;
  cudaStream_t stream = nullptr;
  /// Whether results overwrite the input, as in DDP and FSDP. An all-to-all does not support this.
  bool in_place = true;
  /// Set to true if the queued work has been abandoned.
  const std::atomic<bool>* is_given_up = nullptr;
};

/// The mean time of this rank per exchange over `repetitions` exchanges, in seconds. As in nccl-tests, all exchanges are
/// queued, and the time until the last one is done is divided by their number. Latency is half a round trip, bandwidth a
/// window of messages and an acknowledgement. Throws Error if the group has been abandoned.
[[nodiscard]] double run_exchange(SweepOperation operation, std::int64_t bytes, int window, int repetitions,
                                  const Group& group, Buffers& buffers);

}  // namespace ddl::nccl
