#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "calibration/network/sweep/operation.hpp"

namespace ddl::nccl {

/// Memory of the GPU to send from and to receive into, which grows.
class Buffers {
 public:
  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();
  /// So many bytes each, all zero before what comes next in the stream.
  void resize(std::size_t sent, std::size_t received, cudaStream_t stream);
  /// Leaves the memory to the end of the process: giving it back would wait for a device that does not answer.
  void forget();
  [[nodiscard]] char* sent() const { return sent_; }
  [[nodiscard]] char* received() const { return received_; }

 private:
  char* sent_ = nullptr;
  char* received_ = nullptr;
  std::size_t sent_bytes_ = 0, received_bytes_ = 0;
};

/// What a rank of a group exchanges by.
struct Group {
  ncclComm_t communicator = nullptr;
  int rank = 0, ranks = 1;
  cudaStream_t stream = nullptr;
  /// Results come to where what is given lies, as DDP and FSDP have it; not in an exchange of all with all, which cannot.
  bool in_place = true;
  /// Nobody waits for what is queued any more.
  const std::atomic<bool>* is_given_up = nullptr;
};

/// Seconds that one of `repetitions` exchanges took this rank, as nccl-tests count them: all are queued, and the time until
/// the last is done is divided. Latency is half a round trip, bandwidth a window of messages and a word back. Comes back
/// with an Error where the group is given up.
[[nodiscard]] double run_exchange(SweepOperation operation, std::int64_t bytes, int window, int repetitions,
                                  const Group& group, Buffers& buffers);

}  // namespace ddl::nccl
