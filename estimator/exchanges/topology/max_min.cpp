#include "estimator/exchanges/topology/max_min.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace ddl {
namespace {

/// Links whose fill rates differ only by rounding are filled in one step.
constexpr double alike = 1 + 1e-12;

/// The state of a link while flows grow: the capacity that stopped flows leave free, and the rate at which growing flows
/// fill this capacity.
struct Filling {
  double left = 0;   ///< capacity that stopped flows do not use
  double slope = 0;  ///< sum of the amounts of the flows that still grow
  std::size_t growing = 0;
  [[nodiscard]] double full_at() const {
    return growing == 0 ? std::numeric_limits<double>::infinity() : std::max(0.0, left) / slope;
  }
};

}  // namespace

FairShares max_min_shares(const std::vector<double>& capacities, const std::vector<Flow>& flows) {
  FairShares shares;
  shares.rate.assign(flows.size(), 0.0);
  shares.bottleneck.assign(flows.size(), FairShares::own_limit);
  std::vector<Filling> links(capacities.size());
  for (std::size_t link = 0; link < capacities.size(); ++link) links[link].left = capacities[link];
  // The flows that cross each link, as concatenated lists.
  std::vector<std::size_t> first(capacities.size() + 1);
  for (const Flow& flow : flows) {
    for (const Crossing& crossing : flow.path) {
      links[crossing.link].slope += crossing.amount;
      ++links[crossing.link].growing;
      ++first[crossing.link + 1];
    }
  }
  for (std::size_t link = 0; link < capacities.size(); ++link) first[link + 1] += first[link];
  std::vector<std::size_t> crossing_flows(first.back());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    for (const Crossing& crossing : flows[i].path) crossing_flows[next[crossing.link]++] = i;
  }
  std::vector<std::size_t> by_limit(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) by_limit[i] = i;
  std::sort(by_limit.begin(), by_limit.end(), [&](std::size_t a, std::size_t b) { return flows[a].limit < flows[b].limit; });

  std::vector<bool> stopped(flows.size());
  std::size_t remaining = flows.size();
  const auto stop = [&](std::size_t i, double rate, std::size_t bottleneck) {
    if (stopped[i]) return;
    stopped[i] = true;
    --remaining;
    shares.rate[i] = rate;
    shares.bottleneck[i] = bottleneck;
    for (const Crossing& crossing : flows[i].path) {
      Filling& link = links[crossing.link];
      link.left -= crossing.amount * rate;
      link.slope -= crossing.amount;
      --link.growing;
    }
  };
  std::vector<std::size_t> open(capacities.size());
  for (std::size_t link = 0; link < capacities.size(); ++link) open[link] = link;
  double level = 0;
  std::size_t limited = 0;
  while (remaining > 0) {
    std::erase_if(open, [&](std::size_t link) { return links[link].growing == 0; });
    while (limited < by_limit.size() && stopped[by_limit[limited]]) ++limited;
    double full = std::numeric_limits<double>::infinity();
    for (const std::size_t link : open) full = std::min(full, links[link].full_at());
    const double limit = flows[by_limit[limited]].limit;
    level = std::max(level, std::min(full, limit));
    if (level == std::numeric_limits<double>::infinity()) {
      throw Error("a flow that crosses no link has no rate", "set a limit for the flow");
    }
    // The full links are determined before the first flow stops, because a stop changes the free capacity of other links.
    std::vector<std::size_t> full_links;
    for (const std::size_t link : open) {
      if (links[link].full_at() <= level * alike) full_links.push_back(link);
    }
    for (const std::size_t link : full_links) {
      for (std::size_t at = first[link]; at < first[link + 1]; ++at) stop(crossing_flows[at], level, link);
    }
    for (; limited < by_limit.size() && flows[by_limit[limited]].limit <= level * alike; ++limited) {
      stop(by_limit[limited], flows[by_limit[limited]].limit, FairShares::own_limit);
    }
  }
  return shares;
}

}  // namespace ddl
