#pragma once

#include "core/quantity.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// The C library returns freed tensors of at least this size to the system, and maps new tensors page by page. The size is
/// the upper limit of glibc's M_MMAP_THRESHOLD, which rises to the size of the largest freed block [mallopt(3)].
inline constexpr Bytes mapping_threshold{32.0 * 1048576.0};

/// Returns the bytes of fresh memory that the kernels of a problem map each time they run. Tensors of at least
/// mapping_threshold are included. Forward maps masks, intermediates of the operators (Operation::inner), and the output,
/// unless it overwrites the input. Backward-data maps the gradients of the inputs and of the intermediates. Gradients of
/// weights and biases are included at any size, because they are freed between two steps, which returns the end of the heap
/// to the system (M_TRIM_THRESHOLD [mallopt(3)]). Observed: a step of vit_b_16 in eager PyTorch touches 377 MB for the first
/// time, although its largest gradient has only 9.4 MB of 346 MB.
[[nodiscard]] Bytes fresh_bytes(const Problem& problem);

}  // namespace ddl
