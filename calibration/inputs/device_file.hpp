#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"

namespace ddl {

/// A file of the fitted constants and residuals of a device's kernels, which `calibrate kernels` writes.
struct DeviceFile {
  std::vector<std::string> names;                            ///< names of the device in datasheets and by its driver
  std::vector<std::pair<std::string, std::string>> sources;  ///< keys and citations
  DeviceKernels kernels;
  /// If set, the file represents devices of this compute capability that have no file of their own.
  std::optional<double> compute_capability{};
};

/// Errors are placed: another format, unknown keys, constants outside of their bounds, residuals that are not numbers.
[[nodiscard]] DeviceFile parse_device_file(const std::string& text, const std::string& origin);
[[nodiscard]] std::string print_device_file(const DeviceFile& file);

/// The bundled file of a device with one of these names; null if there is none.
[[nodiscard]] std::shared_ptr<const DeviceKernels> bundled_kernels(const Device& device);
/// The constants of other devices relative to their datasheets: first those of devices with the same compute capability,
/// whose multiprocessors are similar, then those of all devices.
[[nodiscard]] std::shared_ptr<const DeviceKernels> transferred_kernels(const Device& device);

}  // namespace ddl
