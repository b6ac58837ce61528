#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace ddl {

/// How much of a link one unit of a flow's rate takes: 1 for a flow that crosses it, a part of 1 where the flow is striped
/// over several links, and n where the link carries n flows of the kind.
struct Crossing {
  std::size_t link = 0;
  double amount = 1;
};

/// A flow, or many that are alike: each crosses links of the same kinds, which carry as many flows of each kind.
struct Flow {
  std::vector<Crossing> path;
  double limit = std::numeric_limits<double>::infinity();  ///< its rate where no link is shared: its own links
};

/// What each flow gets.
struct FairShares {
  static constexpr std::size_t own_limit = static_cast<std::size_t>(-1);
  std::vector<double> rate;             ///< of each flow, in the unit of the capacities
  std::vector<std::size_t> bottleneck;  ///< the saturated link that holds each flow back, or `own_limit`
};

/// Max-min fair shares: no flow can have more without taking from one that has no more than it. By progressive filling: all
/// rates grow alike until a link is full, whose flows then keep what they have [Bertsekas and Gallager, Data Networks,
/// section 6.5.2]. Flows without links and without a limit have no rate: an Error. `capacities` are finite and at least
/// zero.
[[nodiscard]] FairShares max_min_shares(const std::vector<double>& capacities, const std::vector<Flow>& flows);

}  // namespace ddl
