#include "estimator/exchanges/topology/max_min.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"

namespace max_min_tests {

namespace {

using namespace ddl;

struct Network {
  std::vector<double> capacities;
  std::vector<Flow> flows;
};

/// Returns a few links, some of them equally fast, and flows over some of the links, some of them limited.
Network random_network(std::mt19937_64& random) {
  const auto whole = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  Network network;
  for (int link = whole(1, 12); link > 0; --link) network.capacities.push_back(whole(1, 8) * 1.25e9);
  for (int flow = whole(1, 30); flow > 0; --flow) {
    Flow one;
    for (std::size_t link = 0; link < network.capacities.size(); ++link) {
      if (whole(0, 3) == 0) one.path.push_back({link, whole(0, 2) == 0 ? whole(1, 6) / 2.0 : 1.0});
    }
    if (one.path.empty() || whole(0, 4) == 0) one.limit = whole(1, 16) * 0.25e9;
    network.flows.push_back(one);
  }
  return network;
}

std::vector<double> loads(const Network& network, const FairShares& shares) {
  std::vector<double> load(network.capacities.size());
  for (std::size_t i = 0; i < network.flows.size(); ++i) {
    for (const Crossing& crossing : network.flows[i].path) load[crossing.link] += crossing.amount * shares.rate[i];
  }
  return load;
}

TEST_CASE("two flows share a link, and a third is bound by its own limit") {
  // The limited flow takes 10 of 100, and 90 are left to the other two.
  const FairShares shares = max_min_shares({100}, {{{{0, 1}}}, {{{0, 1}}}, {{{0, 1}}, 10}});
  CHECK(shares.rate[0] == Approx(45));
  CHECK(shares.rate[1] == Approx(45));
  CHECK(shares.rate[2] == 10);
  CHECK(shares.bottleneck[0] == 0);
  CHECK(shares.bottleneck[2] == FairShares::own_limit);
}

TEST_CASE("capacity that a flow cannot use goes to the other flows of a link") {
  // The flow over both links gets 1 of the narrow link's 2, and so does the other flow on that
  // link. The flow on the wide link gets the remaining 9 of 10.
  const FairShares shares = max_min_shares({2, 10}, {{{{0, 1}, {1, 1}}}, {{{0, 1}}}, {{{1, 1}}}});
  CHECK(shares.rate[0] == Approx(1));
  CHECK(shares.rate[1] == Approx(1));
  CHECK(shares.rate[2] == Approx(9));
  CHECK(shares.bottleneck[0] == 0);
  CHECK(shares.bottleneck[2] == 1);
}

TEST_CASE("a striped flow takes its part of each link") {
  // Half of the flow is on each of two links of 10. One of the links has another flow, so both flows get 20/3.
  const FairShares shares = max_min_shares({10, 10}, {{{{0, 0.5}, {1, 0.5}}}, {{{0, 1}}}});
  CHECK(shares.rate[0] == Approx(20.0 / 3));
  CHECK(shares.rate[1] == Approx(20.0 / 3));
}

TEST_CASE("a flow without links has its limit as rate, and an unbounded flow is refused") {
  CHECK(max_min_shares({}, {}).rate.empty());
  CHECK(max_min_shares({5}, {}).rate.empty());
  CHECK(max_min_shares({0}, {{{{0, 1}}}}).rate[0] == 0);
  CHECK(max_min_shares({}, {{{}, 3}}).rate[0] == 3);
  CHECK_THROWS_AS(max_min_shares({5}, {{}}), Error);
}

TEST_CASE("no link carries more than its capacity, and each flow has a full link on which no flow is faster") {
  std::mt19937_64 random(1);
  int limited = 0;
  int at_full_links = 0;
  for (int i = 0; i < 3000; ++i) {
    const Network network = random_network(random);
    const FairShares shares = max_min_shares(network.capacities, network.flows);
    const std::vector<double> load = loads(network, shares);
    for (std::size_t link = 0; link < load.size(); ++link) REQUIRE(load[link] <= network.capacities[link] * (1 + 1e-9));
    for (std::size_t flow = 0; flow < network.flows.size(); ++flow) {
      const double rate = shares.rate[flow];
      REQUIRE(rate <= network.flows[flow].limit);
      const std::size_t bottleneck = shares.bottleneck[flow];
      if (bottleneck == FairShares::own_limit) {
        REQUIRE(rate == network.flows[flow].limit);
        ++limited;
        continue;
      }
      REQUIRE(load[bottleneck] >= network.capacities[bottleneck] * (1 - 1e-9));
      for (std::size_t other = 0; other < network.flows.size(); ++other) {
        const std::vector<Crossing>& path = network.flows[other].path;
        const bool there = std::any_of(path.begin(), path.end(), [&](const Crossing& c) { return c.link == bottleneck; });
        if (there) REQUIRE(shares.rate[other] <= rate * (1 + 1e-9));
      }
      ++at_full_links;
    }
  }
  CHECK(limited > 1000);
  CHECK(at_full_links > 10000);
}

TEST_CASE("links and limits twice as fast make rates twice as fast") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500; ++i) {
    Network network = random_network(random);
    const FairShares before = max_min_shares(network.capacities, network.flows);
    for (double& capacity : network.capacities) capacity *= 8;
    for (Flow& flow : network.flows) flow.limit *= 8;
    const FairShares after = max_min_shares(network.capacities, network.flows);
    for (std::size_t flow = 0; flow < network.flows.size(); ++flow) {
      REQUIRE(after.rate[flow] == Approx(8 * before.rate[flow]).epsilon(1e-9));
    }
  }
}

TEST_CASE("one more flow leaves the slowest of the others no faster, then the next slowest, and so on") {
  // Without the new flow, the other flows could still have the same rates, and max-min shares are
  // the largest such rates, sorted.
  std::mt19937_64 random(3);
  int slower = 0;
  for (int i = 0; i < 2000; ++i) {
    Network network = random_network(random);
    const std::vector<double> with = max_min_shares(network.capacities, network.flows).rate;
    network.flows.pop_back();
    std::vector<double> without = max_min_shares(network.capacities, network.flows).rate;
    std::vector<double> others(with.begin(), with.end() - 1);
    std::sort(others.begin(), others.end());
    std::sort(without.begin(), without.end());
    for (std::size_t flow = 0; flow < others.size(); ++flow) {
      if (others[flow] < without[flow] * (1 - 1e-9)) {
        ++slower;
        break;
      }
      REQUIRE(others[flow] <= without[flow] * (1 + 1e-9));
    }
  }
  CHECK(slower > 500);
}

TEST_CASE("an additional flow may raise the total rate, if it slows a flow that shares links with all others") {
  // Alone, the long flow has 1 of 2 on each of three links. A second flow on a narrow link takes
  // half of this, and the three other flows gain it.
  const std::vector<double> capacities{2, 2, 2, 1};
  std::vector<Flow> flows{{{{0, 1}, {1, 1}, {2, 1}, {3, 1}}}, {{{0, 1}}}, {{{1, 1}}}, {{{2, 1}}}};
  const auto sum = [&] {
    const FairShares shares = max_min_shares(capacities, flows);
    return shares.rate[0] + shares.rate[1] + shares.rate[2] + shares.rate[3];
  };
  CHECK(sum() == Approx(4));
  flows.push_back({{{3, 1}}});
  CHECK(sum() == Approx(0.5 + 3 * 1.5));
}

TEST_CASE("equal flows are one flow with a multiplicity") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 500; ++i) {
    const Network network = random_network(random);
    // Each flow exists three times, or its crossings have three times the amount.
    Network copies{network.capacities, {}};
    Network classes = network;
    for (Flow& flow : classes.flows) {
      for (int copy = 0; copy < 3; ++copy) copies.flows.push_back(flow);
      for (Crossing& crossing : flow.path) crossing.amount *= 3;
    }
    const FairShares of_copies = max_min_shares(copies.capacities, copies.flows);
    const FairShares of_classes = max_min_shares(classes.capacities, classes.flows);
    for (std::size_t flow = 0; flow < classes.flows.size(); ++flow) {
      REQUIRE(of_classes.rate[flow] == Approx(of_copies.rate[3 * flow]).epsilon(1e-9));
      REQUIRE(of_classes.rate[flow] == Approx(of_copies.rate[3 * flow + 2]).epsilon(1e-9));
    }
  }
}

}  // namespace

}  // namespace max_min_tests
