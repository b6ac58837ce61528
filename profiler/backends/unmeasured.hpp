#pragma once

#include <string>

#include "model_zoo/network/problem.hpp"

namespace ddl {

/// Returns the reason why no back end computes this variant of an operation. Models have some variants that no kernel here
/// supports: sinks, caps and a different value size in attention; routers other than a softmax with top-k; capped losses.
/// Empty if the problem uses none of these.
[[nodiscard]] std::string unmeasured_variant(const Problem& problem);

}  // namespace ddl
