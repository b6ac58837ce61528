#pragma once

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

/// Pooling to an output size that does not divide the input size, so windows differ in size and overlap.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_adaptive_pool(const Problem& problem);

}  // namespace ddl::onednn
