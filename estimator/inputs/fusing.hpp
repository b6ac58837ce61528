#pragma once

#include "estimator/inputs/assumptions.hpp"

namespace ddl {

/// Returns whether a compiler fuses elementwise kernels. `is_mixed`: whether the plan's precision is mixed.
[[nodiscard]] constexpr bool fuses_elementwise(Fusing fusing, bool is_mixed) {
  return fusing == Fusing::all || (fusing == Fusing::half && is_mixed);
}

}  // namespace ddl
