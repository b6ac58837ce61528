#pragma once

#include <vector>

#include "profiler/backends/attention_shape.hpp"
#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {

/// Prepares attention without a fused kernel: matrix products, and our own kernels for the passes over the scores.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_attention_products(const Device& device, const Problem& problem);

/// Copies numbers to device memory.
[[nodiscard]] DeviceMemory on_device(const std::vector<std::int32_t>& numbers);

}  // namespace ddl::cuda
