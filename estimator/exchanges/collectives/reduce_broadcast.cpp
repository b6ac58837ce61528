#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

Seconds chain_broadcast_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return (ranks - 1.0) * link.alpha + message * link.beta;
}

Seconds chain_reduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return chain_broadcast_time(message, ranks, link) + message * link.add;
}

Seconds reduce_broadcast_time(Bytes message, double ranks, const Link& link) {
  return chain_reduce_time(message, ranks, link) + chain_broadcast_time(message, ranks, link);
}

}  // namespace ddl
