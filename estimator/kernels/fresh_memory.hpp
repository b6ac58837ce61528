#pragma once

#include "core/quantity.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// From this size on, the C library returns every freed tensor to the system and gets the next one page by page: the upper
/// limit of glibc's M_MMAP_THRESHOLD, which rises to the largest block that was freed below it [mallopt(3)].
inline constexpr Bytes mapping_threshold{32.0 * 1048576.0};

/// Bytes of memory that one run of a problem maps anew. Of tensors of at least mapping_threshold: forward, its output,
/// unless it is written over the input, masks, and intermediates of its operators (Operation::inner); backward-data, the
/// gradients of its inputs and of the intermediates. Gradients of weights and biases of any size: all are freed between two
/// steps, and the end of the heap is returned with them (M_TRIM_THRESHOLD [mallopt(3)]). Observed: a step of vit_b_16 in
/// eager PyTorch touches 377 MB for the first time, although each of its 346 MB of gradients has 9.4 MB at most.
[[nodiscard]] Bytes fresh_bytes(const Problem& problem);

}  // namespace ddl
