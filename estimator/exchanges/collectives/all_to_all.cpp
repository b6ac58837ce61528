#include "estimator/exchanges/collective.hpp"

namespace ddl {

// (P−1)(α + (m/P)β). Pairwise exchange: in step i every rank trades one slice with the rank i places on [BH18, §2].
Seconds pairwise_all_to_all_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return (ranks - 1) * (link.alpha + message / ranks * link.beta);
}

}  // namespace ddl
