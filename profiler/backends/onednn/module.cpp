// The loadable module for the profiler's back end oneDNN.

#include "profiler/backends/backend_module.hpp"
#include "profiler/backends/onednn/backend.hpp"

namespace ddl {
namespace {

int devices() { return 1; }
std::unique_ptr<KernelBackend> open(const BackendOptions& options) {
  return make_onednn_backend(options.threads, options.blas);
}

}  // namespace
}  // namespace ddl

extern "C" __attribute__((visibility("default")))
const ddl::BackendModule ddl_backend_onednn{.devices = ddl::devices, .open = ddl::open};
