#pragma once

#include "core/quantity.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// A C library hands every tensor from this size on back to the system, and gets the next one page by page: the upper limit
/// of glibc's M_MMAP_THRESHOLD, which rises to the largest block that was freed below it [mallopt(3)].
inline constexpr Bytes mapping_threshold{32.0 * 1048576.0};

/// Bytes of memory that one run of a problem maps anew. Tensors of at least mapping_threshold: forward its output, unless it
/// is written over the input, masks, and what lies between its operators (Operation::inner); backward-data the gradients of
/// its inputs and of what lies between. Gradients of weights and biases of any size: all are let go of between two steps,
/// and the end of the heap goes back with them (M_TRIM_THRESHOLD [mallopt(3)]). Seen: a step of vit_b_16 in eager PyTorch
/// touches 377 MB for the first time, where its 346 MB of gradients are of 9.4 MB at most.
[[nodiscard]] Bytes fresh_bytes(const Problem& problem);

}  // namespace ddl
