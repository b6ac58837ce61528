#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/backends/backend_options.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// A back end that this program knows, whether or not it can run here.
struct BackendKind {
  std::string_view name;      ///< `onednn`
  std::string_view summary;   ///< one line
  std::string_view packages;  ///< what to install where it is missing; empty where it never is
  /// Whether all processes of a node have the same device: a processor, which whoever starts them divides.
  bool one_device;
};
[[nodiscard]] std::span<const BackendKind> backend_kinds();
/// The one of that name. An Error where there is none, with "did you mean".
[[nodiscard]] const BackendKind& backend_kind(std::string_view name);

/// Makes it ready. An Error where its module or a library is missing, with what to install, and where its device cannot be
/// used, with the library's word for why.
[[nodiscard]] std::unique_ptr<KernelBackend> open_backend(std::string_view name, const BackendOptions& options);
/// How many devices of this node it can choose from. Errors as those of open_backend.
[[nodiscard]] int count_devices(std::string_view name);

/// Whether a back end can run here.
struct BackendStatus {
  std::vector<DeviceInfo> devices;  ///< those that run
  std::string problem, hint;        ///< why there are none, or no more, and what to do about it; empty where all run
  [[nodiscard]] bool available() const { return !devices.empty(); }
};
/// Opens each of its devices.
[[nodiscard]] BackendStatus backend_status(std::string_view name);

/// The one that measures where nobody asked for another: a GPU, else the processor, never a simulation. An Error that says
/// how to get one where neither runs.
[[nodiscard]] std::string default_backend();

}  // namespace ddl
