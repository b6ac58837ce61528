#include "estimator/exchanges/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>

#include "tests/catch.hpp"
#include "tests/random.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

constexpr Family data = family_bit(Axis::data);
constexpr Family filter = family_bit(Axis::filter);
constexpr Family spatial = family_bit(Axis::spatial);
constexpr Family pipeline = family_bit(Axis::pipeline);
constexpr std::array all_collectives{Collective::allreduce,     Collective::allgather, Collective::reduce_scatter,
                                     Collective::all_to_all,    Collective::broadcast, Collective::reduce,
                                     Collective::point_to_point};
constexpr std::array all_purposes{Purpose::layer, Purpose::halo, Purpose::gradient, Purpose::pipeline};

/// A plan on a machine, with adjustable settings of its exchanges.
struct Setting {
  Plan plan;
  Machine machine = nodes_of_four();
  Coefficients coefficients{};
  Assumptions assumptions{};

  [[nodiscard]] ExchangeTimes times() const { return {plan, machine, coefficients, assumptions}; }
  [[nodiscard]] double time(Collective operation, double bytes, Family axes, Purpose purpose) const {
    return times().time(operation, Bytes(bytes), axes, purpose).value();
  }
  /// Returns the time of gradients with one fixed algorithm.
  [[nodiscard]] double allreduce(AllreduceAlgorithm algorithm, double bytes) const {
    Setting fixed = *this;
    fixed.assumptions.allreduce = algorithm;
    return fixed.time(Collective::allreduce, bytes, data, Purpose::gradient);
  }
};

/// Returns `replicas` groups of `parts` filter parts. The parts are neighbors, so each of a node's
/// four ranks belongs to another replica group.
Setting with_plan(int replicas, int parts = 1) {
  Setting setting;
  setting.plan.mesh.set(Axis::data, replicas);
  setting.plan.mesh.set(Axis::filter, parts);
  return setting;
}

/// Returns a PCIe link of β = 20 ms/B for each pair of devices, with a start-up of 30 s.
HostPath slow_host() { return {Bandwidth(50), 2, Seconds(30)}; }

TEST_CASE("a ring inside a node uses the node's link") {
  // 2 · 3 · (1 + 200 · 0.001)
  CHECK(with_plan(4).allreduce(AllreduceAlgorithm::ring, 800) == Approx(7.2));
}

TEST_CASE("a group of some devices of a mesh uses only the links between its own devices") {
  Setting setting = with_plan(4);
  setting.machine.levels[0].rails = 6;
  // 2 · 3 · (1 + 200 · 0.001 / 6), with or without a mesh of two links to each of three others
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 3 * (1 + 200 * 0.001 / 6)));
  setting.machine.levels[0].peers = 3;
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 3 * (1 + 200 * 0.001 / 6)));
  setting.plan.mesh.set(Axis::data, 2);
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * (1 + 400 * 0.001 / 2)));
  setting.machine.levels[0].peers = 0;
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * (1 + 400 * 0.001 / 6)));
}

TEST_CASE("a ring across nodes has α of its widest level and β of its slowest, striped over the rails of that level") {
  // 2 · 7 · (2 + 100 · max(0.001, 0.01 / 2))
  CHECK(with_plan(8).allreduce(AllreduceAlgorithm::ring, 800) == Approx(35.0));

  // There are nodes of four, leaves of two nodes, and a spine with a high latency but the bandwidth of a node.
  Setting deep = with_plan(16);
  deep.machine.levels[1].units = 2;
  deep.machine.levels.push_back({"spine", 4, Seconds(5), Bandwidth(1000), 1});
  // 2 · 15 · (5 + 100 · max(0.001, 0.01 / 2, 0.001))
  CHECK(deep.allreduce(AllreduceAlgorithm::ring, 1600) == Approx(165.0));
  // Eight ranks meet at the leaf: 2 · 7 · (2 + 100 · 0.005)
  deep.plan.mesh.set(Axis::data, 8);
  CHECK(deep.allreduce(AllreduceAlgorithm::ring, 800) == Approx(35.0));
}

TEST_CASE("groups that share a node's rails have φ = flows / rails") {
  // Each node has four parts of the filters, so four rings of eight replicas leave the node: φ = 4/2.
  Setting setting = with_plan(8, 4);
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 7 * (2 + 100 * 0.02)));
  setting.machine.levels[1].rails = 4;
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 7 * (2 + 100 * 0.01)));
  setting.machine.levels[1].rails = 1;
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 7 * (2 + 100 * 0.04)));
  // Without contention, each flow has one rail to itself.
  setting.assumptions.contention = false;
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 7 * (2 + 100 * 0.01)));
}

TEST_CASE("the placement determines which ranks are neighbors, and which groups share rails") {
  Setting setting = with_plan(8, 4);
  // The parts are inside a node. The time is 3 · (1 + 200 · 0.001) s.
  CHECK(setting.time(Collective::allgather, 800, filter, Purpose::layer) == Approx(3.6));
  const auto place_of = [&](Axis axis) {
    return std::find(setting.plan.placement.begin(), setting.plan.placement.end(), axis);
  };
  std::iter_swap(place_of(Axis::filter), place_of(Axis::data));
  // Replicas are neighbors now. One ring fills two nodes, alone on both rails: φ = 1/2.
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 7 * (2 + 100 * 0.005)));
  // Neighboring parts are eight ranks apart, in four nodes. Four rings have one rank each on every node, so φ = 4/2.
  CHECK(setting.time(Collective::allgather, 800, filter, Purpose::layer) == Approx(3 * (2 + 200 * 0.02)));
}

TEST_CASE("Allgather and Reduce-Scatter across nodes are hierarchical if that is faster than one ring") {
  Setting setting = with_plan(8);
  // Inside a node, the time is 3 · (1 + 200 · 0.001) = 3.6. A node's four slices of 200 B share its
  // rails, φ = 4/2: 1 · (2 + 100 · 0.02) = 4. One ring would take 7 · (2 + 100 · 0.005) = 17.5.
  CHECK(setting.time(Collective::allgather, 800, data, Purpose::gradient) == Approx(7.6));
  CHECK(setting.time(Collective::reduce_scatter, 800, data, Purpose::gradient) == Approx(7.6));
  // At 1 ms/B, 3 slices of 200 B are added inside a node, and one slice of 100 B is added between nodes.
  setting.assumptions.add = SecondsPerByte(0.001);
  CHECK(setting.time(Collective::reduce_scatter, 800, data, Purpose::gradient) == Approx(7.6 + 0.6 + 0.1));
  CHECK(setting.time(Collective::allgather, 800, data, Purpose::gradient) == Approx(7.6));
  // Software that uses rings, and the ideal projection, use one ring of all ranks.
  setting.coefficients.software.layer_algorithm = AllreduceAlgorithm::ring;
  CHECK(setting.time(Collective::allgather, 800, data, Purpose::layer) == Approx(17.5));
  setting.coefficients.software.layer_algorithm.reset();
  setting.assumptions.ring_only = true;
  CHECK(setting.time(Collective::allgather, 800, data, Purpose::layer) == Approx(17.5));
}

TEST_CASE("broadcast and reduce are trees, or chains of large messages; all-to-all is pairwise") {
  // 2 rounds of (1 + 0.8)
  CHECK(with_plan(4).time(Collective::broadcast, 800, data, Purpose::layer) == Approx(3.6));
  CHECK(with_plan(4).time(Collective::reduce, 800, data, Purpose::layer) == Approx(3.6));
  // A chain takes 3 · 1 + 8000 · 0.001, a tree 2 · (1 + 8).
  CHECK(with_plan(4).time(Collective::broadcast, 8000, data, Purpose::layer) == Approx(11.0));
  // The chain adds the vector at 1 ms/B once.
  Setting adding = with_plan(4);
  adding.assumptions.add = SecondsPerByte(0.001);
  CHECK(adding.time(Collective::reduce, 8000, data, Purpose::layer) == Approx(19.0));
  // 3 · (1 + 200 · 0.001)
  CHECK(with_plan(4).time(Collective::all_to_all, 800, data, Purpose::layer) == Approx(3.6));
  // All four ranks of a node send to the other node at once, so φ = 4/2. The time is 7 · 2 + 4 · 100 · 0.02 s.
  CHECK(with_plan(8).time(Collective::all_to_all, 800, data, Purpose::layer) == Approx(22.0));
}

TEST_CASE("a message to a neighbor has one rail, which it shares with its node's other messages") {
  Setting setting;
  setting.plan.mesh.set(Axis::pipeline, 4);
  CHECK(setting.time(Collective::point_to_point, 100, pipeline, Purpose::pipeline) == Approx(1 + 100 * 0.001));
  // Between nodes, a single message uses one rail of 10 ms/B, although a second rail is idle.
  setting.plan.mesh.set(Axis::pipeline, 8);
  CHECK(setting.time(Collective::point_to_point, 100, pipeline, Purpose::pipeline) == Approx(2 + 100 * 0.01));
  // Four concurrent pipelines put four messages on two rails.
  setting.plan.mesh.set(Axis::filter, 4);
  CHECK(setting.time(Collective::point_to_point, 100, pipeline, Purpose::pipeline) == Approx(2 + 100 * 0.02));
  setting.assumptions.contention = false;
  CHECK(setting.time(Collective::point_to_point, 100, pipeline, Purpose::pipeline) == Approx(2 + 100 * 0.01));
}

TEST_CASE("in a mesh, a message to a neighbor uses only the links between the two devices") {
  Setting setting;
  setting.machine.levels[0].rails = 6;
  for (const int stages : {2, 4}) {
    // Behind a switch, a message is striped over all six links. In a mesh, two links lead to each of three others.
    setting.plan.mesh.set(Axis::pipeline, stages);
    setting.machine.levels[0].peers = 0;
    CHECK(setting.time(Collective::point_to_point, 600, pipeline, Purpose::pipeline) == Approx(1 + 600 * 0.001 / 6));
    setting.machine.levels[0].peers = 3;
    CHECK(setting.time(Collective::point_to_point, 600, pipeline, Purpose::pipeline) == Approx(1 + 600 * 0.001 / 2));
  }
  // Halos of tiles use the same links.
  setting.plan.mesh.set(Axis::pipeline, 1);
  setting.plan.mesh.set_tiles({4, 1, 1});
  CHECK(setting.time(Collective::point_to_point, 600, spatial, Purpose::halo) == Approx(1 + 600 * 0.001 / 2));
  // Between nodes, the network's link of 10 ms/B is slower.
  setting.plan.mesh.set_tiles({8, 1, 1});
  CHECK(setting.time(Collective::point_to_point, 600, spatial, Purpose::halo) == Approx(2 + 600 * 0.01));
}

TEST_CASE("exchanges go through the host if the software has no direct route") {
  Setting setting = with_plan(8, 4);
  setting.machine.host = slow_host();
  setting.coefficients.software.layer_route = Route::host;
  setting.coefficients.software.halo_route = Route::host;
  // Collectives have direct links inside a node, so the time is 3 · (1 + 200 · 0.001) s. Halo transfers have no direct
  // links. A halo goes down and up the same PCIe link, which two devices share, at 2 · 2 · 20 ms/B: 3 · (1 + 200 · 0.08) s.
  CHECK(setting.time(Collective::allgather, 800, filter, Purpose::layer) == Approx(3.6));
  CHECK(setting.time(Collective::allgather, 800, filter, Purpose::halo) == Approx(51.0));
  CHECK(setting.times().route(Collective::allgather, filter, Purpose::layer) == Route::direct);
  CHECK(setting.times().route(Collective::allgather, filter, Purpose::halo) == Route::host);
  CHECK(setting.times().route(Collective::allgather, data, Purpose::layer) == Route::host);
  // Gradients do not go through the host.
  CHECK(setting.times().route(Collective::allreduce, data, Purpose::gradient) == Route::direct);
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 7 * (2 + 100 * 0.02)));
  setting.coefficients.software.gradient_route = Route::host;
  // Four rings leave a node over two PCIe links. Each ring crosses its link twice, at 20 · 2 · 2 ms/B. The rails would take
  // only 10 · 4/2 ms/B.
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 7 * (2 + 100 * 0.08)));
  // A single ring has a PCIe link to itself: 20 · 2 ms/B.
  setting.plan.mesh.set(Axis::filter, 1);
  CHECK(setting.allreduce(AllreduceAlgorithm::ring, 800) == Approx(2 * 7 * (2 + 100 * 0.04)));
}

TEST_CASE("the route through the host is used only if the machine has this route and the assumptions allow it") {
  Setting setting = with_plan(1, 4);
  setting.coefficients.software.halo_route = Route::host;
  CHECK(setting.time(Collective::allgather, 800, filter, Purpose::halo) == Approx(3.6));
  setting.machine.host = slow_host();
  CHECK(setting.time(Collective::allgather, 800, filter, Purpose::halo) == Approx(51.0));
  setting.assumptions.host_staging = false;
  CHECK(setting.time(Collective::allgather, 800, filter, Purpose::halo) == Approx(3.6));
}

TEST_CASE("gradients do not take longer inside a node than across two") {
  Setting one = with_plan(4);
  one.machine.host = slow_host();
  one.coefficients.software.gradient_route = Route::host;
  Setting two = one;
  two.plan.mesh.set(Axis::data, 8);
  for (const AllreduceAlgorithm algorithm :
       {AllreduceAlgorithm::ring, AllreduceAlgorithm::hierarchical, AllreduceAlgorithm::leader, AllreduceAlgorithm::tree,
        AllreduceAlgorithm::butterfly, AllreduceAlgorithm::rabenseifner, AllreduceAlgorithm::in_network}) {
    for (const double bytes : {1.0, 800.0, 1e6}) {
      INFO(to_string(algorithm) << " " << bytes);
      CHECK(one.allreduce(algorithm, bytes) <= two.allreduce(algorithm, bytes));
    }
  }
}

TEST_CASE("a halo through the host includes the host's latency") {
  Setting setting;
  setting.plan.mesh.set_tiles({4, 1, 1});
  setting.machine.host = slow_host();
  CHECK(setting.time(Collective::point_to_point, 100, spatial, Purpose::halo) == Approx(1 + 100 * 0.001));
  setting.coefficients.software.halo_route = Route::host;
  CHECK(setting.time(Collective::point_to_point, 100, spatial, Purpose::halo) == Approx(30 + 100 * 0.08));
}

TEST_CASE("the fastest allowed algorithm is used") {
  const auto chosen = [](int ranks, double bytes) {
    const Setting setting = with_plan(ranks);
    return setting.times().allreduce(Bytes(bytes), data, Purpose::gradient);
  };
  // For four ranks and 8 B, a butterfly takes 2 · (1 + 0.008) = 2.016, and Rabenseifner 4 · 1 + 2 · 0.008 · 3/4 = 4.012.
  CHECK(chosen(4, 8).algorithm == AllreduceAlgorithm::butterfly);
  CHECK(chosen(4, 8).time.value() == Approx(2.016));
  // For 8000 B, Rabenseifner takes 4 · 1 + 2 · 8 · 3/4 = 16, a butterfly 2 · (1 + 8) = 18, and a ring 6 · (1 + 2) = 18.
  CHECK(chosen(4, 8000).algorithm == AllreduceAlgorithm::rabenseifner);
  CHECK(chosen(4, 8000).time.value() == Approx(16.0));
  // For eight ranks in two nodes and 800 B, the times are 6 · (1 + 0.2) inside and 2 · (2 + 100 ·
  // 0.02) for slices. A ring takes 35, and Rabenseifner 2 · 3 · 2 + 2 · 16 · 7/8 = 40.
  CHECK(chosen(8, 800).algorithm == AllreduceAlgorithm::hierarchical);
  CHECK(chosen(8, 800).time.value() == Approx(15.2));
  // Switches that add are used only if they are asked for: 6 · (1 + 0.2) inside, and 2 + 200 · 0.02 for a slice through
  // them.
  Setting switches = with_plan(8);
  CHECK(switches.allreduce(AllreduceAlgorithm::in_network, 800) == Approx(13.2));
  // Inside a node, each rank sends and receives the vector once: 1 + 800 · 0.001.
  CHECK(with_plan(4).allreduce(AllreduceAlgorithm::in_network, 800) == Approx(1.8));
  // For two ranks, Rabenseifner takes as long as a ring: 2 · 1 + m. A butterfly takes 1 · (1 + m).
  CHECK(chosen(2, 1e6).algorithm == AllreduceAlgorithm::butterfly);
  // For three ranks, a ring takes 4 · (1 + m/3), and Rabenseifner 4 · 1 + 4/3 · m. If times are equal, the ring is chosen.
  CHECK(chosen(3, 3e6).algorithm == AllreduceAlgorithm::ring);
  const Setting setting = with_plan(8);
  CHECK(setting.time(Collective::allreduce, 800, data, Purpose::gradient) == Approx(15.2));
}

TEST_CASE("each algorithm takes the time of its formula on the links that it uses") {
  const Setting inside = with_plan(4);
  CHECK(inside.allreduce(AllreduceAlgorithm::linear, 800) == Approx(2 * 3 * (1 + 0.8)));
  CHECK(inside.allreduce(AllreduceAlgorithm::tree, 800) == Approx(2 * 2 * (1 + 0.8)));
  CHECK(inside.allreduce(AllreduceAlgorithm::butterfly, 800) == Approx(2 * (1 + 0.8)));
  CHECK(inside.allreduce(AllreduceAlgorithm::rabenseifner, 800) == Approx(2 * 2 * 1 + 2 * 0.8 * 3 / 4));
  // Two levels are required. In one node, both algorithms are rings.
  CHECK(inside.allreduce(AllreduceAlgorithm::hierarchical, 800) == Approx(7.2));
  CHECK(inside.allreduce(AllreduceAlgorithm::leader, 800) == Approx(7.2));

  // Across nodes, all four ranks of a node communicate with the other node at once in recursive
  // algorithms: φ = 4/2, 20 ms/B.
  Setting across = with_plan(8);
  CHECK(across.allreduce(AllreduceAlgorithm::linear, 800) == Approx(2 * 7 * (2 + 800 * 0.005)));
  CHECK(across.allreduce(AllreduceAlgorithm::tree, 800) == Approx(2 * 3 * (2 + 800 * 0.02)));
  CHECK(across.allreduce(AllreduceAlgorithm::butterfly, 800) == Approx(3 * (2 + 800 * 0.02)));
  CHECK(across.allreduce(AllreduceAlgorithm::rabenseifner, 800) == Approx(2 * 3 * 2 + 2 * 800 * 0.02 * 7 / 8));
  // Without contention, a slice and a leader have one rail each: 7.2 inside, then 2 · (2 + m/2 ·
  // 0.01) for 200 B or for 800 B.
  across.assumptions.contention = false;
  CHECK(across.allreduce(AllreduceAlgorithm::hierarchical, 800) == Approx(7.2 + 2 * (2 + 1)));
  CHECK(across.allreduce(AllreduceAlgorithm::leader, 800) == Approx(7.2 + 2 * (2 + 4)));
}

TEST_CASE("hierarchical exchanges through the host stay direct inside the node") {
  Setting setting = with_plan(8);
  setting.machine.host = slow_host();
  setting.coefficients.software.gradient_route = Route::host;
  // Inside a node, the time is 7.2 s. Four slices share two PCIe links and cross them twice, at 20 · 2 · 2 ms/B: 2 · (2 +
  // 100 · 0.08) s.
  CHECK(setting.allreduce(AllreduceAlgorithm::hierarchical, 800) == Approx(7.2 + 20));
  // One leader has a PCIe link to itself: 2 · (2 + 400 · 0.04).
  CHECK(setting.allreduce(AllreduceAlgorithm::leader, 800) == Approx(7.2 + 36));
}

TEST_CASE("the assumptions give the number of parameter servers") {
  Setting setting = with_plan(4);
  // 2 · 0.8 · max(1, 4/s) + 2 · 1
  CHECK(setting.allreduce(AllreduceAlgorithm::parameter_server, 800) == Approx(8.4));
  setting.assumptions.parameter_servers = 2;
  CHECK(setting.allreduce(AllreduceAlgorithm::parameter_server, 800) == Approx(5.2));
}

TEST_CASE("a sparse exchange sends an index with each value, until dense blocks are smaller") {
  Setting setting = with_plan(4);
  // A hundredth of 800 B, and as many bytes of indices, are 16 B. The time is 6 · (1 + 0.016) s.
  CHECK(setting.allreduce(AllreduceAlgorithm::sparse, 800) == Approx(6.096));
  // Half of the gradients would be 800 B with their indices, so the dense block of 800/4 = 200 B is sent. The time is 6 · (1
  // + 0.2) s.
  setting.assumptions.sparse_density = 0.5;
  CHECK(setting.allreduce(AllreduceAlgorithm::sparse, 800) == Approx(7.2));
}

TEST_CASE("a requested algorithm is used for gradients, and overrides the algorithm of the software") {
  Setting setting = with_plan(8, 4);
  setting.assumptions.allreduce = AllreduceAlgorithm::linear;
  setting.coefficients.software.gradient_algorithm = AllreduceAlgorithm::tree;
  setting.coefficients.software.hybrid_gradient_algorithm = AllreduceAlgorithm::butterfly;
  const auto chosen = [&](Purpose purpose) { return setting.times().allreduce(Bytes(800), data, purpose).algorithm; };
  CHECK(chosen(Purpose::gradient) == AllreduceAlgorithm::linear);
  // Layer-wise Allreduces keep the fastest algorithm. With one rank per node, a butterfly takes 3 ·
  // (2 + 16) = 54, a ring 14 · (2 + 2) = 56, and Rabenseifner 6 · 2 + 2 · 16 · 7/8 = 40.
  CHECK(chosen(Purpose::layer) == AllreduceAlgorithm::rabenseifner);
  setting.assumptions.allreduce.reset();
  CHECK(chosen(Purpose::gradient) == AllreduceAlgorithm::butterfly);
  setting.plan.mesh.set(Axis::filter, 1);
  CHECK(chosen(Purpose::gradient) == AllreduceAlgorithm::tree);
  setting.plan.mesh.set_tiles({2, 1, 1});
  CHECK(chosen(Purpose::gradient) == AllreduceAlgorithm::butterfly);
  setting.coefficients.software.layer_algorithm = AllreduceAlgorithm::ring;
  CHECK(chosen(Purpose::layer) == AllreduceAlgorithm::ring);
  // The ideal projection only supports rings.
  setting.assumptions.allreduce = AllreduceAlgorithm::linear;
  setting.assumptions.ring_only = true;
  CHECK(chosen(Purpose::gradient) == AllreduceAlgorithm::ring);
}

TEST_CASE("a group of one rank exchanges nothing") {
  // The plan has four filter parts, but a single replica, and no exchange along other axes.
  const Setting setting = with_plan(1, 4);
  for (const Family axes : {data, spatial, pipeline, data | spatial}) {
    for (const Purpose purpose : all_purposes) {
      for (const Collective operation : all_collectives) {
        INFO(to_string(operation) << ", axes " << axes);
        CHECK(setting.time(operation, 800, axes, purpose) == 0);
      }
    }
    CHECK(setting.times().least_time(Bytes(800), axes).value() == 0);
  }
  for (const AllreduceAlgorithm algorithm : enum_values<AllreduceAlgorithm>) {
    INFO(to_string(algorithm));
    CHECK(setting.allreduce(algorithm, 800) == 0);
  }
  // The parts have exchanges.
  for (const Collective operation : all_collectives) CHECK(setting.time(operation, 800, filter, Purpose::layer) > 0);
}

/// Returns one of 1, 2, 5, 10, …, so that some parts are equal.
double random_step(Random& random) {
  double value = random.of(std::array<double, 3>{1, 2, 5});
  for (int i = random.whole(0, 4); i > 0; --i) value *= 10;
  return value;
}
std::optional<AllreduceAlgorithm> random_algorithm(Random& random) {
  if (random.chance()) return std::nullopt;
  return random.of(enum_values<AllreduceAlgorithm>);
}

Setting random_setting(Random& random) {
  Setting setting;
  setting.machine.levels.clear();
  for (int level = random.whole(1, 4); level > 0; --level) {
    setting.machine.levels.push_back({"level", random.whole(1, 6), Seconds(1e-6 * random_step(random)),
                                      Bandwidth(1e6 * random_step(random)), random.whole(1, 8) / 2.0});
  }
  setting.machine.levels.back().units = 1 << 20;  // large enough for any plan
  if (random.chance()) {
    setting.machine.host =
        HostPath{Bandwidth(1e6 * random_step(random)), random.whole(1, 4), Seconds(1e-6 * random_step(random))};
  }
  setting.plan.mesh.set(Axis::data, random.whole(1, 12));
  setting.plan.mesh.set(Axis::pipeline, random.whole(1, 3));
  setting.plan.mesh.set(Axis::filter, random.whole(1, 6));
  setting.plan.mesh.set(Axis::tensor, random.whole(1, 4));
  setting.plan.mesh.set_tiles({random.whole(1, 3), random.whole(1, 2), 1});
  std::shuffle(setting.plan.placement.begin(), setting.plan.placement.end(), random.engine());
  const auto route = [&] { return random.chance() ? Route::host : Route::direct; };
  setting.coefficients.software.gradient_route = route();
  setting.coefficients.software.layer_route = route();
  setting.coefficients.software.halo_route = route();
  setting.coefficients.software.gradient_algorithm = random_algorithm(random);
  setting.coefficients.software.hybrid_gradient_algorithm = random_algorithm(random);
  setting.coefficients.software.layer_algorithm = random_algorithm(random);
  setting.assumptions.contention = random.chance();
  setting.assumptions.host_staging = random.chance();
  setting.assumptions.ring_only = random.whole(0, 3) == 0;
  setting.assumptions.add = SecondsPerByte(random.chance() ? 0.0 : 1e-10);
  return setting;
}

TEST_CASE("no layer-wise collective is shorter than the least time, and no Allreduce than twice that") {
  Random random(1);
  int above_zero = 0;
  int met = 0;
  for (int i = 0; i < 20000; ++i) {
    const Setting setting = random_setting(random);
    const ExchangeTimes times = setting.times();
    const Bytes message(random_step(random) * 100);
    for (const Family axes : {data, filter, spatial, family_bit(Axis::tensor), data | spatial}) {
      const double least = times.least_time(message, axes).value();
      const double margin = 1 - 1e-12;
      above_zero += least > 0 ? 1 : 0;
      for (const Collective operation : {Collective::allgather, Collective::reduce_scatter, Collective::broadcast}) {
        INFO(to_string(operation));
        const double time = times.time(operation, message, axes, Purpose::layer).value();
        REQUIRE(time >= least * margin);
        met += time < least * 1.1 && least > 0 ? 1 : 0;
      }
      REQUIRE(times.time(Collective::allreduce, message, axes, Purpose::layer).value() >= 2 * least * margin);
    }
  }
  // A bound of zero would be useless.
  CHECK(above_zero > 30000);
  CHECK(met > 1000);
}

TEST_CASE("the start-up part of a time is the part that grows with the latency") {
  Random random(3);
  int above_zero = 0;
  for (int i = 0; i < 2000; ++i) {
    Setting setting = random_setting(random);
    // Each setting uses the next Allreduce algorithm.
    setting.assumptions.allreduce =
        enum_values<AllreduceAlgorithm>[static_cast<std::size_t>(i) % enum_values<AllreduceAlgorithm>.size()];
    setting.coefficients.software.layer_algorithm = setting.assumptions.allreduce;
    Setting slower = setting;
    for (const Family axes : {data, filter, spatial, pipeline, data | spatial}) {
      for (const Purpose purpose : all_purposes) {
        slower.coefficients.learned = {{setting.plan.mesh.family(), Learned{}}};
        Learned& learned = slower.coefficients.learned.front().second;
        for (const Coefficient each : {Coefficient::gradient_alpha, Coefficient::layer_alpha, Coefficient::halo_alpha})
          learned[each] = 3;
        setting.coefficients.learned = {{setting.plan.mesh.family(), Learned{}}};
        for (const Collective operation : all_collectives) {
          const Bytes message(random_step(random) * 100);
          const double startup = setting.times().startup(operation, message, axes, purpose).value();
          const double price = setting.times().time(operation, message, axes, purpose).value();
          const double more = slower.times().time(operation, message, axes, purpose).value();
          INFO(to_string(operation) << " by " << to_string(*setting.assumptions.allreduce));
          CHECK(startup <= price * (1 + 1e-12));
          if (setting.plan.mesh.family() != 0) CHECK(more - price == Approx(2 * startup).epsilon(1e-9).margin(1e-9 * price));
          above_zero += startup > 0 ? 1 : 0;
        }
      }
    }
  }
  CHECK(above_zero > 10000);
}

TEST_CASE("plans of one job that share times have the same times as each plan alone") {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    Setting setting = random_setting(random);
    if (random.chance()) setting.coefficients.learned = {{setting.plan.mesh.family(), Learned{}}};
    KnownTimes known;
    for (int plan = 0; plan < 8; ++plan) {
      setting.plan = random_setting(random).plan;
      const ExchangeTimes alone = setting.times();
      const ExchangeTimes shared(setting.plan, setting.machine, setting.coefficients, setting.assumptions, &known);
      for (const Family axes : {data, filter, spatial, data | spatial}) {
        for (const Purpose purpose : all_purposes) {
          const Bytes message(random_step(random) * 100);
          for (const Collective operation : all_collectives) {
            INFO(to_string(operation));
            REQUIRE(shared.time(operation, message, axes, purpose) == alone.time(operation, message, axes, purpose));
            REQUIRE(shared.startup(operation, message, axes, purpose) == alone.startup(operation, message, axes, purpose));
          }
          REQUIRE(shared.least_time(message, axes, purpose) == alone.least_time(message, axes, purpose));
        }
      }
    }
  }
}

TEST_CASE("the time of each byte does not grow with the message if times are not measured") {
  Random random(8);
  for (int i = 0; i < 2000; ++i) {
    const Setting setting = random_setting(random);
    const ExchangeTimes times = setting.times();
    for (const Family axes : {data, filter, spatial, data | spatial}) {
      for (const Purpose purpose : all_purposes) {
        const double few = random_step(random) * 100, many = few * random_step(random);
        for (const Collective operation : all_collectives) {
          INFO(to_string(operation));
          const double each = times.time(operation, Bytes(few), axes, purpose).value() / few;
          REQUIRE(times.time(operation, Bytes(many), axes, purpose).value() / many <= each * (1 + 1e-12));
        }
      }
    }
  }
}

TEST_CASE("a reference to a group stays valid while other groups are requested") {
  Setting setting = with_plan(4, 4);
  setting.plan.mesh.set_tiles({2, 1, 1});
  const ExchangeTimes times = setting.times();
  const Group& first = times.group(data);
  const double ranks = first.ranks;
  for (Family axes = 0; axes < (1U << axis_count); ++axes) {
    for (const Purpose purpose : all_purposes) {
      static_cast<void>(times.time(Collective::allreduce, Bytes(1000), axes, purpose));
    }
  }
  CHECK(&first == &times.group(data));
  CHECK(first.ranks == ranks);
}

TEST_CASE("a broadcast and a reduce do not take longer than an Allreduce, which contains both") {
  Random random(5);
  int shorter = 0;
  for (int i = 0; i < 5000; ++i) {
    Setting setting = random_setting(random);
    setting.coefficients.software.layer_algorithm.reset();
    setting.assumptions.ring_only = false;
    const double bytes = random_step(random) * 100;
    const double whole = setting.time(Collective::allreduce, bytes, data, Purpose::layer);
    for (const Collective operation : {Collective::broadcast, Collective::reduce}) {
      const double time = setting.time(operation, bytes, data, Purpose::layer);
      REQUIRE(time <= whole);
      shorter += time < whole ? 1 : 0;
    }
  }
  CHECK(shorter > 1000);
}

TEST_CASE("the Allreduce chosen is not longer than any other that may be chosen") {
  Random random(2);
  for (int i = 0; i < 5000; ++i) {
    Setting setting = random_setting(random);
    setting.coefficients.software.gradient_algorithm.reset();
    setting.coefficients.software.hybrid_gradient_algorithm.reset();
    setting.assumptions.ring_only = false;
    const double bytes = random_step(random) * 100;
    const double chosen = setting.time(Collective::allreduce, bytes, data, Purpose::gradient);
    for (const AllreduceAlgorithm algorithm :
         {AllreduceAlgorithm::ring, AllreduceAlgorithm::tree, AllreduceAlgorithm::butterfly,
          AllreduceAlgorithm::rabenseifner, AllreduceAlgorithm::hierarchical}) {
      INFO(to_string(algorithm));
      REQUIRE(chosen <= setting.allreduce(algorithm, bytes));
    }
  }
}

}  // namespace
