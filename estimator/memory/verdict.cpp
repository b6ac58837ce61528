#include "estimator/memory/verdict.hpp"

#include <array>
#include <cstddef>

#include "core/enum_array.hpp"

namespace ddl {

std::string_view to_string(Verdict verdict) {
  constexpr EnumNames<Verdict> names{"FITS", "AT-RISK", "DOES-NOT-FIT"};
  return names[verdict];
}

Verdict verdict_of(const MemoryBreakdown& memory, Bytes available) {
  if (memory.total() > available) return Verdict::does_not_fit;
  return memory.upper_bound() > available ? Verdict::at_risk : Verdict::fits;
}

}  // namespace ddl
