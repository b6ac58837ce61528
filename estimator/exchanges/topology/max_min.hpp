#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace ddl {

/// The capacity of a link that a flow uses, divided by the flow's rate. It is 1 if the flow crosses the link, a fraction if
/// the flow is striped over several links, and n if the link carries n equal flows.
struct Crossing {
  std::size_t link = 0;
  double amount = 1;
};

/// A flow, or several equal flows. Equal flows cross equal links, which carry equal numbers of flows.
struct Flow {
  std::vector<Crossing> path;
  double limit = std::numeric_limits<double>::infinity();  ///< the rate that the flow has if it shares no link
};

/// The max-min fair shares of several flows.
struct FairShares {
  static constexpr std::size_t own_limit = static_cast<std::size_t>(-1);
  std::vector<double> rate;             ///< rate of each flow, in the unit of the capacities
  std::vector<std::size_t> bottleneck;  ///< the saturated link that limits each flow, or `own_limit`
};

/// Returns max-min fair shares: no flow can get a higher rate without lowering the rate of a flow that is not faster. The
/// shares are computed by progressive filling: all rates grow equally until a link is full, and the flows on that link then
/// keep their rates [Bertsekas and Gallager, Data Networks, section 6.5.2]. Throws an Error for a flow that has neither
/// links nor a limit. `capacities` must be finite and not negative.
[[nodiscard]] FairShares max_min_shares(const std::vector<double>& capacities, const std::vector<Flow>& flows);

}  // namespace ddl
