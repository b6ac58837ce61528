#pragma once

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

/// A fully connected layer with experts: tokens are grouped by expert, and each group has its own matrix.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_experts(const Device& device, const Problem& problem);

}  // namespace ddl::onednn
