#pragma once

#include <cstdint>

#include "profiler/kernel_backend.hpp"

namespace ddl {

/// Writes values that keep kernels at their usual pace: no denormals, no overflow, squares where an optimizer keeps squares.
/// Inputs are row numbers below `token_rows` where that is above 0. What a kernel keeps for itself is left alone.
void fill(DeviceBuffer& buffer, TensorRole role, std::int64_t token_rows);

}  // namespace ddl
