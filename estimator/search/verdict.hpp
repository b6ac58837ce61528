#pragma once

#include <string_view>

#include "core/quantity.hpp"
#include "estimator/memory/memory.hpp"

namespace ddl {

/// Whether a plan will run in the memory there is.
enum class Verdict {
  fits,          ///< even the upper bound does
  at_risk,       ///< what is expected does, the upper bound does not
  does_not_fit,  ///< what is expected is too much already
};
/// `FITS`, `AT-RISK`, `DOES-NOT-FIT`
[[nodiscard]] std::string_view to_string(Verdict verdict);

/// `available` is the device's memory less what is to stay free.
[[nodiscard]] Verdict verdict_of(const MemoryBreakdown& memory, Bytes available);

}  // namespace ddl
