#pragma once

#include <memory>
#include <string>

#include "calibration/network/sweep/transport.hpp"
#include "profiler/backends/backend_options.hpp"

namespace ddl {

/// A kernel of a real device, run repeatedly in a separate thread, timed by the back end. `problem` is a line such as
/// `convolution filters=64 ...`. An Error if the back end cannot be opened or does not run it.
[[nodiscard]] std::unique_ptr<DeviceLoad> make_kernel_load(const std::string& backend, const BackendOptions& options,
                                                           const std::string& problem);

}  // namespace ddl
