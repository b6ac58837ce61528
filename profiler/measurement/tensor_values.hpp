#pragma once

#include <cstdint>

#include "model_zoo/network/problem.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// Fills a tensor with values with which kernels run at their usual speed: no denormals, no overflow, squares if an
/// optimizer keeps squares. If `token_rows` is above 0, inputs are row numbers below `token_rows`. All other values are
/// within `scale` of zero. A kernel's private tensors are not changed.
void fill(DeviceBuffer& buffer, TensorRole role, std::int64_t token_rows, double scale = 1);

/// Returns the scale of weights with which activations neither explode nor vanish over many layers: weights are uniform
/// within sqrt(6/n) of zero, where n is the number of elements that are summed into one element of the output [He, Zhang,
/// Ren, Sun, Delving Deep into Rectifiers, ICCV 2015, section 2.2]. Returns 1 if there is no sum.
[[nodiscard]] double weight_scale(const Problem& problem);

}  // namespace ddl
