#pragma once

#include <string>

#include "model_zoo/network/problem.hpp"

namespace ddl {

/// Why no back end computes this variant of an operation, which models have and kernels here do not: sinks, caps and values
/// of another size of attention; routers other than a softmax and the best of its scores; capped losses. Empty where nothing
/// of the kind is asked for.
[[nodiscard]] std::string unmeasured_variant(const Problem& problem);

}  // namespace ddl
