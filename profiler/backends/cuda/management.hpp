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

  /// Driver, clocks, power limit, and reasons for slowdown, by name.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const;
  /// The clock and the slowdown reasons are instantaneous. The power may be an average of the last second [NVML API
  /// Reference, nvmlDeviceGetPowerUsage].
  [[nodiscard]] DeviceState state() const;
  /// `550.54.15`; empty if no driver reports it.
  [[nodiscard]] static std::string driver_version();

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  void* device_ = nullptr;
};

/// The names of the bits that NVML reports as reasons for lower clocks, `none` for 0. Bits without a name are omitted.
[[nodiscard]] std::string slowdown_names(std::uint64_t bits);

}  // namespace ddl::cuda
