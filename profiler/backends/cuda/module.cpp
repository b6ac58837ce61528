#include "profiler/backends/backend_module.hpp"
#include "profiler/backends/cuda/backend.hpp"

namespace ddl {
namespace {

std::unique_ptr<KernelBackend> open(const BackendOptions& options) {
  return make_cuda_backend({.device = options.device, .layout = options.layout, .algorithm = options.algorithm});
}

}  // namespace
}  // namespace ddl

extern "C" __attribute__((visibility("default")))
const ddl::BackendModule ddl_backend_cuda{.devices = ddl::count_cuda_devices, .open = ddl::open};
