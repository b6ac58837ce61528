#include "estimator/exchanges/topology/network.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "estimator/exchanges/exchange.hpp"
#include "tests/catch.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"
#include "tests/unit/estimator/topology/fat_tree.hpp"

namespace network_tests {

namespace {

using namespace ddl;

constexpr Family data = family_bit(Axis::data);
constexpr Family filter = family_bit(Axis::filter);
constexpr Family spatial = family_bit(Axis::spatial);

/// Returns `nodes` nodes of this many devices, with two NICs of 100 B/s each, in a network of this shape.
Machine machine_of(NetworkShape shape, int nodes, int devices = 1) {
  Machine machine;
  machine.name = "shaped";
  machine.levels.push_back({"node", devices, Seconds(1), Bandwidth(1e6), 1});
  machine.levels.push_back({"network", nodes, Seconds(2), Bandwidth(100), 2});
  machine.shape = std::move(shape);
  machine.network = make_network(machine);
  return machine;
}

NetworkShape torus(std::vector<int> extents, double link) {
  NetworkShape shape;
  shape.kind = NetworkShape::Kind::torus;
  shape.extents = std::move(extents);
  shape.link_bandwidth = Bandwidth(link);
  return shape;
}

NetworkShape loop(std::vector<int> shortcuts, double link) {
  NetworkShape shape;
  shape.kind = NetworkShape::Kind::distributed_loop;
  shape.shortcuts = std::move(shortcuts);
  shape.link_bandwidth = Bandwidth(link);
  return shape;
}

/// Returns groups of four routers with two nodes each. Links have 100 B/s; links between groups
/// have 50 B/s, one at each router.
NetworkShape dragonfly() {
  NetworkShape shape;
  shape.kind = NetworkShape::Kind::dragonfly;
  shape.nodes_per_router = 2;
  shape.routers_per_group = 4;
  shape.global_links = 1;
  shape.link_bandwidth = Bandwidth(100);
  shape.global_bandwidth = Bandwidth(50);
  return shape;
}

Group group_of_all(const Machine& machine) {
  Plan plan;
  plan.mesh.set(Axis::data, static_cast<int>(machine.devices()));
  return group_of(plan, machine, data);
}

NetworkShare shifted(const Machine& machine, double step, bool striped = true) {
  Flows flows{Pattern::shift};
  flows.step = step;
  flows.striped = striped;
  return machine.network->share(group_of_all(machine), flows);
}

/// Returns the route, after checking that it is connected, has the right length, and contains no link twice.
std::vector<Crossing> way(const Network& network, int from, int to) {
  std::vector<Crossing> path;
  network.route(from, to, -1, path);
  std::set<std::size_t> links;
  for (const Crossing& crossing : path) {
    REQUIRE(crossing.link < network.bundles().size());
    REQUIRE(crossing.amount > 0);
    links.insert(crossing.link);
  }
  return path;
}

TEST_CASE("flows mapped to the links of a fat tree get the shares computed by level") {
  std::mt19937_64 random(1);
  const auto whole = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  int crossing = 0;
  for (int i = 0; i < 600; ++i) {
    // All numbers are powers of two, so that groups fill units evenly.
    Machine machine;
    for (int level = 0; level < 4; ++level) {
      machine.levels.push_back({"level", 1 << whole(level == 0 ? 0 : 1, 2), Seconds(1), Bandwidth(whole(1, 20) * 10.0),
                                whole(1, 6) / (level > 1 ? 2.0 : 1.0)});
    }
    const auto all = static_cast<int>(machine.devices());
    Plan plan;
    plan.mesh.set(Axis::filter, 1 << whole(0, 2));
    plan.mesh.set_tiles({1 << whole(0, 2), 1, 1});
    plan.mesh.set(Axis::data, std::max(1, all / plan.mesh[Axis::filter] / plan.mesh.tiles()[0]));
    if (plan.mesh.devices() > all) continue;
    std::shuffle(plan.placement.begin(), plan.placement.end(), random);
    const auto network = fat_tree_network(machine);
    for (const Family axes : {data, filter, spatial, data | spatial}) {
      const Group group = group_of(plan, machine, axes);
      if (group.ranks == 1 || group.outermost == 0) continue;
      for (const Pattern pattern : {Pattern::ring, Pattern::slices, Pattern::leaders}) {
        const Flows flows{pattern, pattern == Pattern::slices ? group.members[0] : 1.0, true, 1};
        const SharedLink counted = share_of_levels(machine, group, flows, true, {});
        const NetworkShare laid = network->share(group, flows);
        INFO("pattern " << static_cast<int>(pattern) << ", group of " << group.ranks << ", " << group.members[0]
                        << " a node");
        REQUIRE(laid.rate == Approx(1 / counted.link.beta.value()).epsilon(1e-9));
        ++crossing;
      }
    }
  }
  CHECK(crossing > 1000);
}

TEST_CASE("segmented Allreduces of data and filter share the NICs of a node: local groups over rails") {
  // Each node has four parts, so four rings leave the node on two rails.
  const Machine machine = nodes_of_four();
  Plan plan;
  plan.mesh.set(Axis::filter, 4);
  plan.mesh.set(Axis::data, 8);
  const Coefficients nothing;
  Assumptions ring;
  ring.allreduce = AllreduceAlgorithm::ring;
  const Bottleneck bottleneck =
      ExchangeTimes(plan, machine, nothing, ring).allreduce(Bytes(800), data, Purpose::gradient).bottleneck;
  CHECK(bottleneck.level == "system");
  CHECK(bottleneck.flows == 4);
  CHECK(bottleneck.links == 2);
  CHECK(bottleneck.phi == 2);
  // The same holds link by link: eight nodes have one exit of 200 B/s each, for four flows.
  const NetworkShare laid = fat_tree_network(machine)->share(group_of(plan, machine, data), {Pattern::ring});
  CHECK(laid.rate == Approx(50));
  CHECK(laid.phi == Approx(2));
  CHECK(laid.flows == 4);
  CHECK(laid.links == 2);
}

TEST_CASE("all halo pairs of the devices behind a PCIe switch share the switch") {
  Machine machine = nodes_of_four();
  machine.host = HostPath{Bandwidth(1000), 4, Seconds(3)};
  Plan plan;
  plan.mesh.set_tiles({2, 2, 1});
  Coefficients coefficients;
  coefficients.software.halo_route = Route::host;
  const Assumptions assumptions;
  const SharedLink link = ExchangeTimes(plan, machine, coefficients, assumptions).neighbour_link(spatial, Purpose::halo);
  CHECK(link.bottleneck.level == "host link");
  CHECK(link.bottleneck.phi == 4);
  // Each pair crosses the switch's link twice: 4 · 2 / 1000 s/B.
  CHECK(link.link.beta.value() == Approx(0.008));
}

TEST_CASE("a spine that is over-subscribed three times slows all-node traffic down three times") {
  // There are leaves of four nodes with one NIC, and 4/3 links above each leaf.
  Machine machine;
  machine.levels.push_back({"node", 1, Seconds(1), Bandwidth(1e6), 1});
  machine.levels.push_back({"leaf", 4, Seconds(2), Bandwidth(100), 1});
  machine.levels.push_back({"spine", 4, Seconds(3), Bandwidth(100), 4.0 / 3});
  Plan plan;
  plan.mesh.set(Axis::filter, 4);
  plan.mesh.set(Axis::data, 4);
  // Replicas are in different leaves, so all four nodes of a leaf send to another leaf.
  const Group group = group_of(plan, machine, data);
  const SharedLink counted = share_of_levels(machine, group, {Pattern::ring}, true, {});
  CHECK(counted.bottleneck.level == "spine");
  CHECK(counted.bottleneck.phi == Approx(3));
  const auto network = fat_tree_network(machine);  // the network must outlive the names of links in the share
  const NetworkShare laid = network->share(group, {Pattern::ring});
  CHECK(laid.phi == Approx(3));
  CHECK(laid.where == "spine");
  // One ring through all leaves leaves each leaf once.
  plan.mesh.set(Axis::filter, 1);
  plan.mesh.set(Axis::data, 16);
  CHECK(share_of_levels(machine, group_of(plan, machine, data), {Pattern::ring}, true, {}).bottleneck.phi == 1);
}

TEST_CASE("neighbors in a torus are one link apart, and others share links") {
  const Machine machine = machine_of(torus({4, 4}, 100), 16);
  // In a ring through all nodes, only the last node of each row of four sends to another row, over one link of 100 B/s.
  CHECK(shifted(machine, 1).rate == Approx(100));
  // The node four places on is in the next row.
  CHECK(shifted(machine, 4).rate == Approx(100));
  CHECK(shifted(machine, 4).hops == 1);
  // The node two places on is reached both ways round a row of four. There are two hops with half
  // of the flow, and each link has two such halves.
  CHECK(way(*machine.network, 0, 2).size() == 2 + 2 * 2);
  // The node eight places on is two rows away, in both directions.
  CHECK(shifted(machine, 8).rate == Approx(100));
  CHECK(shifted(machine, 8).hops == 2);
  // In a ring of eight, the node three places on is three links away. Eight nodes use eight links of this direction.
  const Machine ring = machine_of(torus({8}, 100), 8);
  CHECK(shifted(ring, 3).rate == Approx(100.0 / 3));
  CHECK(shifted(ring, 3).phi == Approx(3));
  CHECK(shifted(ring, 3).where == "torus link");
}

TEST_CASE("on a loop with links to all powers of two, each round of shifted halving uses one link") {
  const Machine machine = machine_of(loop({2, 4, 8}, 50), 16);
  for (const double step : {1.0, 2.0, 4.0, 8.0}) {
    INFO(step);
    CHECK(shifted(machine, step).rate == Approx(50));
    CHECK(shifted(machine, step).hops == 1);
  }
  // Without additional links, a message takes as many hops as places, and shares them with as many
  // flows. The shorter way round the ring has eight hops.
  const Machine bare = machine_of(loop({}, 50), 16);
  CHECK(shifted(bare, 4).rate == Approx(50.0 / 4));
  CHECK(shifted(bare, 4).hops == 4);
  // A distance of three is a hop of four and a hop of one back.
  CHECK(way(*machine.network, 0, 3).size() == 2 + 2);
  CHECK(way(*machine.network, 0, 15).size() == 2 + 1);
}

TEST_CASE("Allreduce on a distributed loop uses shifted halving-doubling instead of pairwise exchanges") {
  const Coefficients nothing;
  const Assumptions assumptions;
  Plan plan;
  plan.mesh.set(Axis::data, 16);
  const auto chosen = [&](const Machine& machine, double bytes) {
    return ExchangeTimes(plan, machine, nothing, assumptions).allreduce(Bytes(bytes), data, Purpose::gradient);
  };
  const Machine shaped = machine_of(loop({2, 4, 8}, 100), 16);
  CHECK(chosen(shaped, 4000).algorithm == AllreduceAlgorithm::shifted_halving_doubling);
  // There are 8 rounds in both phases together: 8 · 2 s, and 2 · 15/16 · 4000 B on links of 100 B/s.
  CHECK(chosen(shaped, 4000).time.value() == Approx(8 * 2 + 2 * 15.0 / 16 * 4000 / 100));
  // In a tree, where only the links of a level count, the time is the same.
  Machine tree = shaped;
  tree.network = nullptr;
  tree.shape = {};
  CHECK(chosen(tree, 4000).algorithm != AllreduceAlgorithm::shifted_halving_doubling);
}

TEST_CASE("circuits carry messages between neighbors, and a packet-switched network carries all others") {
  NetworkShape shape;
  shape.kind = NetworkShape::Kind::optical_circuits;
  shape.shortcuts = {1, 4};
  shape.link_bandwidth = Bandwidth(100);
  shape.global_bandwidth = Bandwidth(25);
  const Machine machine = machine_of(shape, 16);
  const NetworkShare next = shifted(machine, 1);
  CHECK(next.rate == Approx(100));
  CHECK(next.hops == 1);
  CHECK(shifted(machine, 4).rate == Approx(100));
  CHECK(shifted(machine, 15).rate == Approx(100));
  const NetworkShare far = shifted(machine, 2);
  CHECK(far.rate == Approx(25));
  CHECK(far.where == "packet link");
  CHECK(far.phi == Approx(1));
  CHECK(far.hops == 2);
  // A ring takes circuits. The last rounds of halving-doubling do not: two of four distances have none.
  const Coefficients nothing;
  const Assumptions assumptions;
  Plan plan;
  plan.mesh.set(Axis::data, 16);
  const ExchangeTimes times(plan, machine, nothing, assumptions);
  const auto chosen = times.allreduce(Bytes(4e6), data, Purpose::gradient);
  CHECK(chosen.algorithm == AllreduceAlgorithm::ring);
  CHECK(chosen.time.value() == Approx(2 * 15.0 / 16 * 4e6 / 100).epsilon(1e-3));
}

namespace {

/// Returns the time of an Allreduce among 16 ranks.
double allreduce_seconds(const Machine& machine, double bytes, AllreduceAlgorithm algorithm) {
  const Coefficients nothing;
  Assumptions assumptions;
  assumptions.allreduce = algorithm;
  Plan plan;
  plan.mesh.set(Axis::data, 16);
  return ExchangeTimes(plan, machine, nothing, assumptions).allreduce(Bytes(bytes), data, Purpose::gradient).time.value();
}

}  // namespace

TEST_CASE("halving-doubling that begins with far ranks fills the links of an over-subscribed tree") {
  // Four leaves of four nodes, with two links out of each leaf.
  Machine tree = machine_of({}, 4);
  tree.network = nullptr;
  tree.levels[1].rails = 1;
  tree.levels.push_back({"spine", 4, Seconds(2), Bandwidth(100), 2});
  // 8 rounds of 2 s. Each of the two phases sends 15/16 of 16 s; three quarters of the vector leave a leaf, where four flows
  // share two links.
  CHECK(allreduce_seconds(tree, 1600, AllreduceAlgorithm::far_halving_doubling) ==
        Approx(8 * 2 + 2 * (0.75 * 2 + 0.1875) * 16));
  CHECK(allreduce_seconds(tree, 1600, AllreduceAlgorithm::rabenseifner) == Approx(8 * 2 + 2 * 15.0 / 16 * 16));
}

TEST_CASE("halving-doubling that begins with far ranks is no faster than with near ranks among nodes of several devices") {
  const Machine nodes = nodes_of_four();
  CHECK(allreduce_seconds(nodes, 1e8, AllreduceAlgorithm::rabenseifner) <=
        allreduce_seconds(nodes, 1e8, AllreduceAlgorithm::far_halving_doubling));
}

TEST_CASE("if all groups of a dragonfly send to the next group, they share the links between the groups") {
  // There are five groups of eight nodes. Four links lead from a group to each of the four other groups.
  const Machine machine = machine_of(dragonfly(), 40);
  // Eight nodes use one link of 50 B/s in both directions of a shift. With one flow per link, the
  // local links and NICs have 100 B/s, so eight flows have a φ of 16.
  const NetworkShare next = shifted(machine, 8);
  CHECK(next.rate == Approx(50.0 / 8));
  CHECK(next.where == "global link");
  CHECK(next.flows == 8);
  CHECK(next.phi == Approx(8));
  // Two nodes share one link from router to router in a group.
  const NetworkShare near = shifted(machine, 2);
  CHECK(near.rate <= 50.0);
  CHECK(near.rate > 50.0 / 8);
  // A route has at most one link in each of two groups, and one link between the groups.
  for (int to = 1; to < 40; ++to) {
    const std::size_t links = way(*machine.network, 0, to).size();
    CHECK(links >= 2);
    CHECK(links <= 5);
  }
}

TEST_CASE("flows on one rail do not share another rail") {
  NetworkShape shape;
  shape.kind = NetworkShape::Kind::rail_optimised;
  Machine machine;
  machine.levels.push_back({"node", 4, Seconds(1), Bandwidth(1e6), 1});
  machine.levels.push_back({"unit", 4, Seconds(2), Bandwidth(100), 4});
  machine.levels.push_back({"system", 2, Seconds(3), Bandwidth(100), 4});
  machine.shape = shape;
  machine.network = make_network(machine);
  Plan plan;
  plan.mesh.set(Axis::filter, 4);
  plan.mesh.set(Axis::data, 4);
  Flows flows{Pattern::neighbours};
  flows.striped = false;
  flows.extent = 4;
  // There are four parts in each node, each on its own rail.
  const NetworkShare apart = machine.network->share(group_of(plan, machine, data), flows);
  CHECK(apart.rate == Approx(100));
  CHECK(apart.phi == 1);
  // All devices of a node send to the next node, striped: four flows on four rails.
  CHECK(machine.network->share(group_of(plan, machine, data), {Pattern::ring}).rate == Approx(100));
  // A single ring has all rails to itself.
  plan.mesh.set(Axis::filter, 1);
  plan.mesh.set(Axis::data, 16);
  CHECK(machine.network->share(group_of(plan, machine, data), {Pattern::ring}).rate == Approx(400));
}

TEST_CASE("a topology adds hop latency to the start-up of distant messages") {
  NetworkShape shape = torus({8}, 100);
  shape.hop_latency = Seconds(0.5);
  const Machine machine = machine_of(shape, 8);
  const Group group = group_of_all(machine);
  Flows flows{Pattern::shift};
  flows.step = 3;
  CHECK(share_of_levels(machine, group, flows, true, {}).link.alpha.value() == Approx(2 + 2 * 0.5));
  flows.step = 1;
  CHECK(share_of_levels(machine, group, flows, true, {}).link.alpha.value() == Approx(2));
}

TEST_CASE("no layer-wise collective on a network is shorter than the least time") {
  std::mt19937_64 random(5);
  const auto whole = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  int above_zero = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<NetworkShape> shapes{torus({4, 4}, whole(1, 20) * 20.0), loop({2, 4, 8}, whole(1, 20) * 20.0),
                                           dragonfly()};
    const Machine machine = machine_of(shapes[static_cast<std::size_t>(whole(0, 2))], 16, 1 << whole(0, 2));
    Plan plan;
    plan.mesh.set(Axis::filter, 1 << whole(0, 3));
    plan.mesh.set(Axis::data, static_cast<int>(machine.devices()) / plan.mesh[Axis::filter]);
    std::shuffle(plan.placement.begin(), plan.placement.end(), random);
    const Coefficients nothing;
    const Assumptions assumptions;
    const ExchangeTimes times(plan, machine, nothing, assumptions);
    const Bytes message(std::pow(10.0, whole(1, 7)));
    for (const Family axes : {data, filter}) {
      const double least = times.least_time(message, axes).value() * (1 - 1e-12);
      above_zero += least > 0 ? 1 : 0;
      for (const Collective operation : {Collective::allgather, Collective::reduce_scatter}) {
        REQUIRE(times.time(operation, message, axes, Purpose::layer).value() >= least);
      }
      REQUIRE(times.time(Collective::allreduce, message, axes, Purpose::layer).value() >= 2 * least);
    }
  }
  CHECK(above_zero > 200);
}

TEST_CASE("the messages of all rounds of a recursive halving add up to the vector without one rank's slice") {
  for (double ranks = 2; ranks <= 70; ++ranks) {
    INFO(ranks);
    for (const auto& rounds : {halving_rounds(ranks), shifted_halving_rounds(ranks), far_halving_rounds(ranks)}) {
      CHECK(static_cast<double>(rounds.size()) == std::ceil(std::log2(ranks)));
      double sum = 0;
      for (const HalvingRound& round : rounds) {
        CHECK(round.part > 0);
        CHECK(round.step < ranks);
        sum += round.part;
      }
      CHECK(sum == Approx((ranks - 1) / ranks));
    }
  }
  CHECK(shifted_halving_rounds(1).empty());
  // For 11 ranks, the distances are six places, then three, two and one.
  std::vector<double> steps;
  for (const HalvingRound& round : shifted_halving_rounds(11)) steps.push_back(round.step);
  CHECK(steps == std::vector<double>{6, 3, 2, 1});
  // Among 8 ranks, half of the vector travels 4 places.
  CHECK(far_halving_rounds(8).front().step == 4);
  CHECK(far_halving_rounds(8).front().part == 0.5);
}

TEST_CASE("a measured φ overrides the model's φ only at its own level") {
  const Machine machine = nodes_of_four();
  Plan plan;
  plan.mesh.set(Axis::filter, 4);
  plan.mesh.set(Axis::data, 8);
  const Group group = group_of(plan, machine, data);
  const std::vector<MeasuredContention> measured{{"system", 2, 1.1, ""}, {"system", 4, 2.5, ""}};
  const SharedLink shared = share_of_levels(machine, group, {Pattern::ring}, true, measured);
  CHECK(shared.bottleneck.phi == 2.5);
  CHECK(shared.bottleneck.measured);
  CHECK(shared.link.beta.value() == Approx(0.025));
  CHECK(share_of_levels(machine, group, {Pattern::ring}, true, {{"rack", 4, 9, ""}}).bottleneck.phi == 2);
  CHECK_FALSE(measured_phi(measured, "node", 4));
  // φ is linear between two counts, and proportional to the number of flows beyond them.
  CHECK(*measured_phi(measured, "system", 3) == Approx(1.8));
  CHECK(*measured_phi(measured, "system", 1) == Approx(0.55));
  CHECK(*measured_phi(measured, "system", 8) == Approx(5.0));
}

TEST_CASE("congestion widens the time of collectives that cross its level, and leaves φ unchanged") {
  const Machine machine = nodes_of_four();
  Plan plan;
  plan.mesh.set(Axis::data, 8);
  Coefficients coefficients;
  coefficients.congestion.push_back({"system", 1.5, 2, ""});
  Assumptions assumptions;
  assumptions.allreduce = AllreduceAlgorithm::ring;
  const auto choice = [&](std::optional<double> quantile, const Plan& at) {
    Assumptions among = assumptions;
    among.congestion_quantile = quantile;
    return ExchangeTimes(at, machine, coefficients, among).allreduce(Bytes(800), data, Purpose::gradient);
  };
  const ExchangeTimes::Choice alone = choice(std::nullopt, plan);
  CHECK(choice(0, plan).time.value() == Approx(1.5 * alone.time.value()));
  CHECK(choice(1, plan).time.value() == Approx(3 * alone.time.value()));
  // Other jobs never speed up an exchange.
  CHECK(choice(-1, plan).time.value() == Approx(alone.time.value()));
  CHECK(choice(1, plan).bottleneck.phi == alone.bottleneck.phi);
  Plan inside = plan;
  inside.mesh.set(Axis::data, 4);
  CHECK(choice(1, inside).time.value() == choice(std::nullopt, inside).time.value());
}

}  // namespace

}  // namespace network_tests
