#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl::cuda {

/// Information about one device from NVIDIA's management library (NVML), which comes with the driver. Everything is empty if
/// the library is not available.
class Management {
 public:
  /// `bus` is CUDA's PCI bus id.
  explicit Management(const std::string& bus);
  Management(const Management&) = delete;
  Management& operator=(const Management&) = delete;
  ~Management();

  /// The driver, clocks, the power limit, and the reasons for lower clocks, as pairs of name and text.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const;
  /// The current clock, power, and reasons for lower clocks. The power may be an average of the
  /// last second [NVML API Reference, nvmlDeviceGetPowerUsage].
  [[nodiscard]] DeviceState state() const;
  /// The version of the driver, such as `550.54.15`; empty if no driver reports it.
  [[nodiscard]] static std::string driver_version();

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  void* device_ = nullptr;
};

/// The names of the bits that NVML reports as reasons for lower clocks; `none` if no bit is set.
/// Bits without a name are omitted.
[[nodiscard]] std::string slowdown_names(std::uint64_t bits);

}  // namespace ddl::cuda
