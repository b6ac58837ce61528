#include "estimator/exchanges/collectives/communication_library.hpp"

#include <cmath>

#include "estimator/exchanges/exchange.hpp"
#include "estimator/exchanges/lone_exchange.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "tests/catch.hpp"

using namespace ddl;

namespace {

const LibraryConstants test_constants{.fabric = "test",
                                      .clusters = 1,
                                      .call = Seconds(5e-6),
                                      .tree_level = 0.5,
                                      .tree_inside = 0.25,
                                      .message = 0.1,
                                      .ring_fill = 0.5,
                                      .tree_fill = 1,
                                      .all_to_all = 0.8,
                                      .doubt = 1.5};

/// Returns four nodes of two ranks. A message takes 100 us between nodes and 10 us inside; a
/// kilobyte takes 1, 2 and 0.25 us.
LibraryGroup four_nodes() {
  return {.ranks = 8,
          .nodes = 4,
          .between = Seconds(100e-6),
          .inside = Seconds(10e-6),
          .ring = SecondsPerByte(1e-9),
          .out_of_node = SecondsPerByte(1e-9),
          .in_node = SecondsPerByte(0.25e-9),
          .exchanged = SecondsPerByte(2e-9)};
}

Machine with_library() {
  Machine machine;
  machine.levels.push_back({.name = "node", .units = 4, .latency = 3.0_us, .bandwidth = Bandwidth(100e9), .rails = 1});
  machine.levels.push_back({.name = "system", .units = 64, .latency = 20.0_us, .bandwidth = Bandwidth(10e9), .rails = 4});
  machine.levels[1].library = test_constants;
  return machine;
}

}  // namespace

TEST_CASE("a library's ring has the start-ups of its hops and the time to fill its pipeline") {
  // 2 · 7/8 turns of four hops of 100 us and four hops of 10 us are 770 us. Bytes take 2 · 7/8 · 1 MB · 1 ns = 1750 us.
  const double startups = 1.75 * (4 * 100e-6 + 4 * 10e-6), bytes = 1.75e-3;
  CHECK(library_ring_time(2, Bytes(1e6), four_nodes(), test_constants).value() ==
        Approx(5e-6 + startups + bytes + 0.5 * std::sqrt(startups * bytes)));
  CHECK(library_ring_time(1, Bytes(1e6), four_nodes(), test_constants).value() ==
        Approx(5e-6 + (startups + bytes + 0.5 * std::sqrt(startups * bytes)) / 2));
}

TEST_CASE("in a library's two trees the vector leaves each node twice, or once among two nodes") {
  // Two levels of the tree take 50 us each, up and down. A message of the chain takes 2.5 us in each direction. The sum is
  // 205 us.
  const double startups = 2 * 2 * 0.5 * 100e-6 + 2 * 0.25 * 10e-6;
  CHECK(library_tree_time(Bytes(1e6), four_nodes(), test_constants).value() ==
        Approx(5e-6 + startups + 2e-3 + std::sqrt(startups * 2e-3)));
  LibraryGroup two = four_nodes();
  two.ranks = 4;
  two.nodes = 2;
  const double less = 2 * 0.5 * 100e-6 + 2 * 0.25 * 10e-6;
  CHECK(library_tree_time(Bytes(1e6), two, test_constants).value() == Approx(5e-6 + less + 1e-3 + std::sqrt(less * 1e-3)));
  // If the chain inside the nodes is slower, it determines the time in both directions.
  two.in_node = SecondsPerByte(3e-9);
  CHECK(library_tree_time(Bytes(1e6), two, test_constants).value() == Approx(5e-6 + less + 6e-3 + std::sqrt(less * 6e-3)));
}

TEST_CASE("a library's all-to-all sends a message to each rank of each other node") {
  // The first message takes 100 us, five others 10 us each. 6/8 of 1 MB take 2 ns / 0.8 per byte.
  CHECK(library_all_to_all_time(Bytes(1e6), four_nodes(), test_constants).value() ==
        Approx(5e-6 + 150e-6 + 0.75e6 * 2e-9 / 0.8));
}

TEST_CASE("ranks of a node that send together send a message to each other node") {
  LibraryConstants grouped = test_constants;
  grouped.grouped = 8;
  // Both ranks of a node pass their parts on in 10 us. The first of three messages takes 100 us, the others 10 us each.
  CHECK(library_all_to_all_time(Bytes(1e6), four_nodes(), grouped).value() ==
        Approx(5e-6 + 10e-6 + 120e-6 + 0.75e6 * 2e-9 / 0.8));
  // With more nodes, start-ups grow by a message a node instead of a message a rank.
  const auto growth = [](double ranks_per_node, const LibraryConstants& constants) {
    const auto start = [&](double nodes) {
      LibraryGroup group = four_nodes();
      group.ranks = ranks_per_node * nodes;
      group.nodes = nodes;
      return library_all_to_all_time(Bytes(1), group, constants).value();
    };
    return start(64) - start(32);
  };
  for (const double in_node : {1.0, 2.0, 4.0, 8.0}) {
    CHECK(growth(in_node, grouped) == Approx(32 * 10e-6));
    CHECK(growth(in_node, test_constants) == Approx(32 * in_node * 10e-6));
  }
  // At most eight ranks send together.
  CHECK(growth(16, grouped) == Approx(64 * 10e-6));
}

TEST_CASE("fitted factors apply to start-ups and to bytes, each once") {
  const auto tree = [](double alpha, double beta) {
    LibraryGroup fitted = four_nodes();
    fitted.between *= alpha;
    fitted.inside *= alpha;
    fitted.out_of_node *= beta;
    fitted.in_node *= beta;
    fitted.alpha_factor = alpha;
    fitted.beta_factor = beta;
    return library_tree_time(Bytes(1e6), fitted, test_constants).value();
  };
  const double startups = 5e-6 + 2 * 2 * 0.5 * 100e-6 + 2 * 0.25 * 10e-6;
  const double bytes = tree(1, 1) - startups;
  CHECK(tree(3, 1) == Approx(3 * startups + bytes));
  CHECK(tree(1, 2) == Approx(startups + 2 * bytes));
}

TEST_CASE("between nodes of a known fabric, exchanges follow the library's rules, and take at least their bound") {
  const Coefficients none;
  for (const int nodes : {2, 3, 8, 64}) {
    for (const int in_node : {1, 2, 4}) {
      const Machine machine = with_library();
      Plan plan;
      plan.mesh.set(Axis::data, nodes * in_node);
      plan.global_batch = nodes * in_node;
      Machine filled = machine;
      filled.levels[0].units = in_node;
      const Assumptions assumptions;
      const ExchangeTimes times(plan, filled, none, assumptions);
      const Family axes = family_bit(Axis::data);
      for (const double bytes : {1e3, 1e6, 1e9}) {
        INFO(nodes << " nodes of " << in_node << ", " << bytes);
        const auto choice = times.allreduce(Bytes(bytes), axes, Purpose::gradient);
        CHECK((choice.algorithm == AllreduceAlgorithm::ring || choice.algorithm == AllreduceAlgorithm::double_tree));
        const Seconds least = times.least_time(Bytes(bytes), axes, Purpose::gradient);
        CHECK(choice.time >= 2 * least);
        CHECK(times.time(Collective::allgather, Bytes(bytes), axes, Purpose::gradient) >= least);
        CHECK(times.startup(Collective::allreduce, Bytes(bytes), axes, Purpose::gradient) < choice.time);
        CHECK(times.startup(Collective::allgather, Bytes(bytes), axes, Purpose::gradient) <
              times.time(Collective::allgather, Bytes(bytes), axes, Purpose::gradient));
      }
    }
  }
  // An ideal projection has no library.
  Plan plan;
  plan.mesh.set(Axis::data, 16);
  plan.global_batch = 16;
  Assumptions ideal;
  ideal.ring_only = true;
  const Machine machine = with_library();
  const ExchangeTimes times(plan, machine, none, ideal);
  Machine bare = machine;
  bare.levels[1].library = {};
  const ExchangeTimes without(plan, bare, none, ideal);
  CHECK(times.time(Collective::allreduce, 1_MiB, family_bit(Axis::data), Purpose::gradient) ==
        without.time(Collective::allreduce, 1_MiB, family_bit(Axis::data), Purpose::gradient));
}
