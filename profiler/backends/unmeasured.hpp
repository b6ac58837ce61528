#pragma once

#include <string>

#include "model_zoo/network/problem.hpp"

namespace ddl {

/// Returns the reason why no back end computes this variant of an operation; empty if the problem uses no such variant. The
/// unsupported variants are sinks, caps and a different value size in attention, routers other than a softmax with top-k,
/// and capped losses.
[[nodiscard]] std::string unmeasured_variant(const Problem& problem);

}  // namespace ddl
