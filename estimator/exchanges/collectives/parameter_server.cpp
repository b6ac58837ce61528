#include <algorithm>
#include <cassert>

#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// Push and pull take 2mβ·max(1, P/s) + 2α. Each server holds m/s and transfers it P times in each direction. Each worker's
// own link transfers m in each direction. [BH18] §2 prints 2P·mβ/s + 2α, which for s > P is faster than a worker's link
// allows. The maximum prevents such times.
Seconds parameter_server_time(Bytes message, double ranks, double servers, const Link& link) {
  assert(servers > 0);
  if (ranks <= 1) return {};
  return 2.0 * std::max(1.0, ranks / servers) * (message * link.beta) + 2.0 * link.alpha;
}

}  // namespace ddl
