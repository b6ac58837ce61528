#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"

namespace ddl {

/// What was measured on GPUs of one compute capability, and is assumed of all GPUs of this capability.
struct CapabilityFacts {
  double capability = 0;
  std::optional<double> joules_per_flop{};  ///< Device::joules_per_flop
  std::optional<Bytes> whole_context{};     ///< Device::whole_context
};

/// A file that `calibrate kernels` writes: the fitted constants and the residuals of a device's kernels.
struct DeviceFile {
  std::vector<std::string> names;                            ///< names of the device, in datasheets and in its driver
  std::vector<std::pair<std::string, std::string>> sources;  ///< keys and citations
  DeviceKernels kernels;
  /// If set, the file also applies to devices of this compute capability that have no file of their own.
  std::optional<double> compute_capability{};
};

/// Parses a device file. Throws Error with a position in the file for another format, unknown keys,
/// constants outside of their bounds, and residuals that are not numbers.
[[nodiscard]] DeviceFile parse_device_file(const std::string& text, const std::string& origin);
[[nodiscard]] std::string print_device_file(const DeviceFile& file);

/// Parses a file with facts of GPUs by compute capability. Throws Error with a position in the file.
[[nodiscard]] std::vector<CapabilityFacts> parse_capabilities(std::string text, std::string origin);
/// Sets facts that the device lacks, from the bundled file of facts by compute capability.
void add_capability_facts(Device& device);

/// Whether a bundled file describes a device with one of these names. Reads no kernels.
[[nodiscard]] bool has_bundled_kernels(const Device& device);
/// The bundled file of a device with one of these names, with its sources; empty if there is none.
[[nodiscard]] std::optional<DeviceFile> bundled_device_file(const Device& device);
/// The kernels of the bundled file of a device with one of these names; null if there is none.
[[nodiscard]] std::shared_ptr<const DeviceKernels> bundled_kernels(const Device& device);
/// Kernel constants of other devices, relative to their datasheets. Devices with the compute capability of `device` come
/// first, because they have similar multiprocessors. Other devices follow, with the kernels that the first ones lack.
[[nodiscard]] std::shared_ptr<const DeviceKernels> transferred_kernels(const Device& device);

}  // namespace ddl
