#pragma once

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

/// A fully connected layer with experts: tokens lie grouped by expert, and each group has a matrix of its own.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_experts(const Device& device, const Problem& problem);

}  // namespace ddl::onednn
