#pragma once

#include <memory>
#include <vector>

#include "core/quantity.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// How fast the device runs at one moment.
struct SpeedLook {
  Seconds time{};       ///< of the kernel that is looked at: the median of a few samples
  DeviceState state{};  ///< clocks and power just after it
};

/// Looks again and again at how fast the device runs one and the same kernel, a matrix product that the back end names
/// (KernelBackend::speed_problem): clocks that throttle and other work on the machine make it slower, nothing else does.
class SpeedWatch {
 public:
  /// Runs the product until the device is warm (KernelBackend::warm_up). An Error where the back end cannot run it.
  explicit SpeedWatch(KernelBackend& backend);
  SpeedWatch(const SpeedWatch&) = delete;
  SpeedWatch& operator=(const SpeedWatch&) = delete;
  ~SpeedWatch();

  [[nodiscard]] SpeedLook look();

 private:
  KernelBackend& backend_;
  std::unique_ptr<PreparedKernel> kernel_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<DeviceBuffer*> bound_;
  TimedWork work_;
};

}  // namespace ddl
