#include "estimator/memory/verdict.hpp"

namespace ddl {

Verdict verdict_of(const MemoryBreakdown& memory, Bytes available) {
  if (memory.total() > available) return Verdict::does_not_fit;
  return memory.upper_bound() > available ? Verdict::at_risk : Verdict::fits;
}

}  // namespace ddl
