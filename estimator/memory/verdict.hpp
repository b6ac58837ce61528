#pragma once

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/memory/memory.hpp"

namespace ddl {

/// The verdict of a plan: whether the plan fits in the available memory.
enum class Verdict {
  fits,          ///< even the upper bound of the plan's memory fits
  at_risk,       ///< the expected memory fits, but the upper bound does not
  does_not_fit,  ///< the expected memory does not fit
};
/// Returns `FITS`, `AT-RISK` or `DOES-NOT-FIT`.
template <>
inline constexpr EnumNames<Verdict> enum_names<Verdict>{"FITS", "AT-RISK", "DOES-NOT-FIT"};

/// Returns the verdict of a plan. `available` is the memory of the device minus the memory that is kept free.
[[nodiscard]] Verdict verdict_of(const MemoryBreakdown& memory, Bytes available);

}  // namespace ddl
