#pragma once

#include <cstdint>

#include "model_zoo/network/problem.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// Writes values that keep kernels at their usual pace: no denormals, no overflow, squares where an optimizer keeps squares.
/// Inputs are row numbers below `token_rows` where that is above 0; all others lie within `scale` of zero. What a kernel
/// keeps for itself is left alone.
void fill(DeviceBuffer& buffer, TensorRole role, std::int64_t token_rows, double scale = 1);

/// The scale at which weights neither blow up nor fade out what passes through layer after layer: uniform within
/// sqrt(6/n) of zero, n being the items summed into one of the output [He, Zhang, Ren, Sun, Delving Deep into Rectifiers,
/// ICCV 2015, section 2.2]. 1 where there is no sum.
[[nodiscard]] double weight_scale(const Problem& problem);

}  // namespace ddl
