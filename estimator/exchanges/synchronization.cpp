#include "estimator/exchanges/synchronization.hpp"

namespace ddl {

Synchronization synchronization_of(const Plan& plan, const Assumptions& assumptions) {
  return plan.mesh[Axis::data] > 1 ? assumptions.synchronization : Synchronization::sync;
}

double mean_staleness(const Plan& plan, const Assumptions& assumptions) {
  switch (synchronization_of(plan, assumptions)) {
    case Synchronization::stale:
    case Synchronization::async:
      return plan.mesh[Axis::data] - 1.0;
    case Synchronization::async_gossip:
    case Synchronization::sync:
    case Synchronization::gossip:
      break;
  }
  return 0;
}

}  // namespace ddl
