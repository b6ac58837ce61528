#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/backends/backend_options.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// A back end that this program knows, even if the back end cannot run on this machine.
struct BackendKind {
  std::string_view name;      ///< name of the back end, such as `onednn`
  std::string_view summary;   ///< description of one line
  std::string_view packages;  ///< packages to install if it is missing; empty if it is always available
  /// Whether all processes of a node share one device. This is true for a CPU; the launcher divides
  /// its cores among the processes.
  bool one_device;
};
[[nodiscard]] std::span<const BackendKind> backend_kinds();
/// Returns the back end of that name. Throws Error with "did you mean" for an unknown name.
[[nodiscard]] const BackendKind& backend_kind(std::string_view name);

/// Initializes a back end. If the module or a library is missing, throws Error that lists the
/// packages to install. If the device cannot be used, throws Error with the library's reason.
[[nodiscard]] std::unique_ptr<KernelBackend> open_backend(std::string_view name, const BackendOptions& options);
/// The number of devices of this node that a back end can use. Throws the same errors as open_backend.
[[nodiscard]] int count_devices(std::string_view name);

/// Whether a back end can run here.
struct BackendStatus {
  std::vector<DeviceInfo> devices;  ///< devices that can be used
  std::string problem, hint;        ///< why a device cannot be used, and what the user can do; else empty
  [[nodiscard]] bool available() const { return !devices.empty(); }
};
/// Opens each device of a back end, and returns which devices can be used.
[[nodiscard]] BackendStatus backend_status(std::string_view name);

/// The default back end for measurements: a GPU, or else the CPU, but never a simulation. If neither runs, throws Error with
/// installation instructions.
[[nodiscard]] std::string default_backend();

}  // namespace ddl
