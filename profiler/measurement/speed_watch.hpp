#pragma once

#include <memory>
#include <vector>

#include "core/quantity.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// The speed of the device at one moment.
struct SpeedLook {
  Seconds time{};       ///< time of the reference kernel: the median of a few samples
  DeviceState state{};  ///< clocks and power just after the reference kernel
};

/// Measures the speed of the device repeatedly with one reference kernel, a matrix product that the back end names
/// (KernelBackend::speed_problem). Only throttling clocks and other work on the machine make this kernel slower.
class SpeedWatch {
 public:
  /// Runs the reference kernel until the device is warm (KernelBackend::warm_up). Throws Error if
  /// the back end cannot run this kernel.
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
