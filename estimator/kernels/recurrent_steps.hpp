#pragma once

#include <span>

#include "core/quantity.hpp"
#include "estimator/inputs/machine.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

// The kernels and time steps of recurrent layers.

/// Returns whether a library runs all kernels of a pass in one call of the framework, as cuDNN runs recurrent layers.
[[nodiscard]] inline bool runs_in_one_call(const Operation& operation) { return operation.type() == "lstm"; }

/// Kernels of cuDNN that compute all time steps of a recurrent layer at once, and keep its weights on the chip. `volta` and
/// `ampere` are the conditions on batch and sequence under which PyTorch uses them.
enum class PersistentKernels { never, volta, ampere };
[[nodiscard]] PersistentKernels persistent_kernels(const Device& device, Precision precision);

/// Returns the time that the time steps of a recurrent layer add to their matrix products in a pass: the kernels of the
/// gates, and the delay between two dependent kernels. Steps of both directions overlap. Zero for other operations, and for
/// persistent kernels. `inputs`, `output`: shapes for one sample.
[[nodiscard]] Seconds time_between_steps(const Operation& operation, Pass pass, std::span<const TensorShape> inputs,
                                         const TensorShape& output, double samples, PersistentKernels persistent);

}  // namespace ddl
