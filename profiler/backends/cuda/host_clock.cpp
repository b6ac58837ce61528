#include <chrono>

#include "profiler/backends/cuda/stopwatch.hpp"

namespace ddl::cuda {

double host_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace ddl::cuda
