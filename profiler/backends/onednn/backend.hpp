#pragma once

#include <memory>
#include <string>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// Creates the back end for the CPU, with oneDNN, on `threads` threads. With one thread, times are
/// stable even if the machine has other work. `blas`: a library for matrix products in place of
/// oneDNN, such as `libopenblas.so.0`. Throws Error if the library cannot be loaded.
[[nodiscard]] std::unique_ptr<KernelBackend> make_onednn_backend(int threads, const std::string& blas = {});

}  // namespace ddl
