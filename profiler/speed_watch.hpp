#pragma once

#include <memory>
#include <vector>

#include "core/quantity.hpp"
#include "profiler/kernel_backend.hpp"

namespace ddl {

/// Looks again and again at how fast the device runs one and the same kernel, a matrix product whose tensors stay in the
/// caches: clocks that throttle and other work on the machine make it slower, nothing else does.
class SpeedWatch {
 public:
  /// An Error where the back end cannot run the product.
  explicit SpeedWatch(KernelBackend& backend);
  SpeedWatch(const SpeedWatch&) = delete;
  SpeedWatch& operator=(const SpeedWatch&) = delete;
  ~SpeedWatch();

  /// The kernel's time at this moment: the median of a few samples.
  [[nodiscard]] Seconds look();

 private:
  KernelBackend& backend_;
  std::unique_ptr<PreparedKernel> kernel_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<DeviceBuffer*> bound_;
};

}  // namespace ddl
