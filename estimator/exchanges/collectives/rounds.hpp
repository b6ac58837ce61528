#pragma once

#include <cmath>

namespace ddl {

/// Returns ⌈log2 P⌉, the number of rounds until P ranks are merged in pairs. The result is exact,
/// because exponents of doubles are exact.
[[nodiscard]] inline double log2_rounds(double ranks) {
  int exponent = 0;
  const double fraction = std::frexp(ranks, &exponent);  // ranks = fraction · 2^exponent, 0.5 ≤ fraction < 1
  return fraction == 0.5 ? exponent - 1 : exponent;
}

}  // namespace ddl
