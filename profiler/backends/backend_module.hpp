#pragma once

#include <memory>

#include "profiler/backends/backend_options.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// The functions that a back end exports as `ddl_backend_NAME`, from a loadable module or from the program itself. Both
/// functions throw Error with the library's reason if the device cannot be used.
struct BackendModule {
  int (*devices)();  ///< number of devices of this node, at least 1
  std::unique_ptr<KernelBackend> (*open)(const BackendOptions& options);
};

}  // namespace ddl
