#pragma once

#include <memory>

#include "profiler/kernel_backend.hpp"

namespace ddl {

/// The processor, by oneDNN. `threads` of them; 1 is steady where the machine has other work.
[[nodiscard]] std::unique_ptr<KernelBackend> make_onednn_backend(int threads);

}  // namespace ddl
