#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "calibration/network/sweep/processes.hpp"
#include "calibration/network/sweep/transport_module.hpp"
#include "calibration/network/sweep/transports/nccl/exchanges.hpp"

namespace ddl::nccl {

/// A GPU, its stream, and the communicators of the groups of this rank. NCCL waits forever for a missing rank, in calls and
/// in kernels, so operations that do not return are abandoned with an error. The communicators are blocking, because NCCL
/// starts a thread for every exchange of a non-blocking one, which would lengthen the measured times.
class Communicators {
 public:
  Communicators(int device, Processes& processes, const TransportOptions& options);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  /// Aborts the communicators, because destroying them would wait for other ranks. All exchanges must be finished.
  ~Communicators();

  /// Returns the seconds of one exchange of this rank's group, while all groups run concurrently;
  /// zero if the rank is in no group. All processes must call this function.
  [[nodiscard]] double time(const ExchangeStep& step, int repetitions);

 private:
  struct Device;

  const Group& group_in(const std::vector<std::vector<int>>& groups);
  void watch(const char* name, std::function<void(Device&)> work, ncclComm_t communicator);
  /// Aborts running operations. Returns false if the operations do not end.
  bool abort_communicators() noexcept;

  Processes& processes_;
  TransportOptions options_;
  std::shared_ptr<Device> device_;  ///< shared with threads that have not returned
  std::map<std::vector<std::vector<int>>, Group> groups_;
};

}  // namespace ddl::nccl
