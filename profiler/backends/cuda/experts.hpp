#pragma once

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {

/// A fully connected layer of several experts: rows lie grouped by expert, in groups as equal as can be, and each group has
/// weights and biases of its own.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_experts(const Device& device, const Problem& problem);

}  // namespace ddl::cuda
