#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

Seconds reduce_broadcast_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return 2.0 * (ranks - 1.0) * link.alpha + 2.0 * (message * link.beta) + message * link.add;
}

}  // namespace ddl
