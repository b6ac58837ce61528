#pragma once

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {

/// A fully connected layer of several experts: rows are grouped by expert, in groups as equal as possible, and each group
/// has its own weights and biases.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_experts(const Device& device, const Problem& problem);

}  // namespace ddl::cuda
