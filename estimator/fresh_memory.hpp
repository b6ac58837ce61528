#pragma once

#include "core/quantity.hpp"
#include "model_zoo/problem.hpp"

namespace ddl {

/// A C library hands every tensor from this size on back to the system, and gets the next one page by page: the upper limit
/// of glibc's M_MMAP_THRESHOLD, which rises to the largest block that was freed below it [mallopt(3)].
inline constexpr Bytes mapping_threshold{32.0 * 1048576.0};

/// Bytes of the tensors of at least mapping_threshold that one run of a problem makes, each anew: forward its output, unless
/// it is written over the input, masks, and what lies between its operators (Operation::inner); backward-data the gradients
/// of its inputs and of what lies between; backward-weight those of weights and of biases. Sums of gradients are made in
/// place.
[[nodiscard]] Bytes fresh_bytes(const Problem& problem);

}  // namespace ddl
