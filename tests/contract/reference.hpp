#pragma once

#include <map>
#include <utility>
#include <vector>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// Tensors by role and index, in the layout of KernelTensor.
using ReferenceTensors = std::map<std::pair<TensorRole, int>, std::vector<double>>;

/// Returns the output of the problem's forward pass by the definition of the operation: plain loops in double precision over
/// input, weight, bias and, for dropout and attention with dropout, the drawn mask.
[[nodiscard]] std::vector<double> reference_forward(const Problem& problem, const ReferenceTensors& tensors);

/// Returns the gradient of Σ output·output_gradient with respect to one of the tensors, by central
/// differences of the forward pass.
[[nodiscard]] std::vector<double> reference_gradient(const Problem& problem, const ReferenceTensors& tensors,
                                                     std::pair<TensorRole, int> of,
                                                     const std::vector<double>& output_gradient);

}  // namespace ddl
