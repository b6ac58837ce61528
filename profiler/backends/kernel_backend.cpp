#include "profiler/backends/kernel_backend.hpp"

#include "core/error.hpp"

namespace ddl {

std::function<void()> KernelBackend::record(const std::function<void()>& /*work*/) {
  throw Error("this back end cannot record a step as a graph", "only the cuda back end can");
}

}  // namespace ddl
