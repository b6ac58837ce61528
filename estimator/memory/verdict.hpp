#pragma once

#include <string_view>

#include "core/quantity.hpp"
#include "estimator/memory/memory.hpp"

namespace ddl {

/// The verdict about a plan: whether it fits in the available memory.
enum class Verdict {
  fits,          ///< even the upper bound of its memory fits
  at_risk,       ///< the expected memory fits, but the upper bound does not
  does_not_fit,  ///< the expected memory does not fit
};
/// Returns `FITS`, `AT-RISK` or `DOES-NOT-FIT`.
[[nodiscard]] std::string_view to_string(Verdict verdict);

/// Returns the verdict about a plan. `available` is the memory of the device minus the memory that is kept free.
[[nodiscard]] Verdict verdict_of(const MemoryBreakdown& memory, Bytes available);

}  // namespace ddl
