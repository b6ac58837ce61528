#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"

namespace ddl {

/// A file of what is known of a device's kernels, which `calibrate kernels` writes.
struct DeviceFile {
  std::vector<std::string> names;                            ///< of the device, in data sheets and by its driver
  std::vector<std::pair<std::string, std::string>> sources;  ///< keys and citations
  DeviceKernels kernels;
  /// The file stands for devices of this compute capability that have none of their own.
  std::optional<double> compute_capability{};
};

/// Errors are placed: another format, unknown keys, constants outside of their bounds, residuals that are no numbers.
[[nodiscard]] DeviceFile parse_device_file(const std::string& text, const std::string& origin);
[[nodiscard]] std::string print_device_file(const DeviceFile& file);

/// The bundled file of a device of one of these names; nothing if there is none.
[[nodiscard]] std::shared_ptr<const DeviceKernels> bundled_kernels(const Device& device);
/// What other devices reach of their data sheets: first those of the same compute capability, whose multiprocessors are
/// alike, then all.
[[nodiscard]] std::shared_ptr<const DeviceKernels> transferred_kernels(const Device& device);

}  // namespace ddl
