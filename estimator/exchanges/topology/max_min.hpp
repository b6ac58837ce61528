#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace ddl {

/// How much capacity of a link a flow uses per unit of its rate: 1 for a flow that crosses it, a fraction if the flow is
/// striped over several links, and n if the link carries n flows of this kind.
struct Crossing {
  std::size_t link = 0;
  double amount = 1;
};

/// A flow, or several equal flows. Equal flows cross links of the same kinds, which carry the same number of flows of each
/// kind.
struct Flow {
  std::vector<Crossing> path;
  double limit = std::numeric_limits<double>::infinity();  ///< the rate that the flow has if it shares no link
};

/// The result for each flow.
struct FairShares {
  static constexpr std::size_t own_limit = static_cast<std::size_t>(-1);
  std::vector<double> rate;             ///< rate of each flow, in the unit of the capacities
  std::vector<std::size_t> bottleneck;  ///< the saturated link that limits each flow, or `own_limit`
};

/// Max-min fair shares: no flow can get a higher rate without lowering a rate that is not higher than its own. The shares
/// are computed by progressive filling: all rates grow equally until a link is full; the flows on it then keep their rates
/// [Bertsekas and Gallager, Data Networks, section 6.5.2]. A flow without links and without a limit has no rate, which is an
/// Error. `capacities` must be finite and not negative.
[[nodiscard]] FairShares max_min_shares(const std::vector<double>& capacities, const std::vector<Flow>& flows);

}  // namespace ddl
