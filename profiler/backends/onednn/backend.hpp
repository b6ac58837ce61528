#pragma once

#include <memory>
#include <string>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// The processor, by oneDNN. `threads` of them; 1 is steady where the machine has other work. `blas`: the library that does
/// matrix products instead, `libopenblas.so.0` for example; Error where it cannot be loaded.
[[nodiscard]] std::unique_ptr<KernelBackend> make_onednn_backend(int threads, const std::string& blas = {});

}  // namespace ddl
