#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "calibration/network/sweep/processes.hpp"
#include "calibration/network/sweep/transport_module.hpp"
#include "calibration/network/sweep/transports/nccl/exchanges.hpp"

namespace ddl::nccl {

/// A GPU, its stream, and the groups that this rank has joined on it. What NCCL does not bring back is given up, with words:
/// NCCL waits for ever for a rank that is gone, in calls and in kernels. Its communicators block, since with those that do
/// not a thread is started for every exchange, which would be timed.
class Communicators {
 public:
  Communicators(int device, Processes& processes, const TransportOptions& options);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  /// Aborts the communicators: to destroy them waits for other ranks. What was exchanged is done.
  ~Communicators();

  /// Seconds of one exchange of this rank's group, of all that exchange at once; zero where it is in none. All processes
  /// call it together.
  [[nodiscard]] double time(const ExchangeStep& step, int repetitions);

 private:
  struct Device;

  const Group& group_in(const std::vector<std::vector<int>>& groups);
  void watch(const char* name, std::function<void(Device&)> work, ncclComm_t communicator);
  /// Ends what is under way. False where it does not end.
  bool abort_communicators() noexcept;

  Processes& processes_;
  TransportOptions options_;
  std::shared_ptr<Device> device_;  ///< also of threads that did not come back
  std::map<std::vector<std::vector<int>>, Group> groups_;
};

}  // namespace ddl::nccl
