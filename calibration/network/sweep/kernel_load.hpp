#pragma once

#include <memory>
#include <string>

#include "calibration/network/sweep/transport.hpp"
#include "profiler/backends/backend_options.hpp"

namespace ddl {

/// A kernel of a real device that runs repeatedly in a separate thread and is timed by the back end. `problem`: a line such
/// as `convolution filters=64 ...`. Throws Error if the back end cannot be opened, or does not support the problem.
[[nodiscard]] std::unique_ptr<DeviceLoad> make_kernel_load(const std::string& backend, const BackendOptions& options,
                                                           const std::string& problem);

}  // namespace ddl
