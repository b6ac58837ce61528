// Tests the units of layers that a search assigns layouts to: the elimination of units finds the least cost, and layouts may
// begin where the search assumes it.
#include "estimator/search/unit_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/property/segment_cases.hpp"
#include "tests/random.hpp"

namespace unit_graph_tests {

namespace {

using namespace segments_tests;

/// Returns the least cost of all states, by trying them all.
double least_of_all(const UnitGraph& graph, const std::vector<std::vector<double>>& of_unit,
                    const std::vector<std::vector<double>>& of_link) {
  const std::size_t states = of_unit.front().size();
  std::vector<std::size_t> chosen(of_unit.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    double cost = 0;
    for (std::size_t unit = 0; unit < of_unit.size(); ++unit) cost += of_unit[unit][chosen[unit]];
    for (std::size_t i = 0; i < of_link.size(); ++i)
      cost += of_link[i][chosen[graph.links[i].from] * states + chosen[graph.links[i].to]];
    least = std::min(least, cost);
    std::size_t place = 0;
    while (place < chosen.size() && ++chosen[place] == states) chosen[place++] = 0;
    if (place == chosen.size()) return least;
  }
}

TEST_CASE("the elimination of units finds the least cost of all states") {
  // The skip connections of a U-Net, and branches that join.
  const OwnedJob u_net(small_u_net(32), nodes_of(8, 16e9), assumptions_of(false), 1e6);
  const UnitGraph skips = unit_graph(u_net.facts);
  REQUIRE(skips.firsts.size() == 9);
  CHECK(skips.order.size() == 9);
  // Several tensors cross before the units from `bottom` to `larger1`, and one before the others.
  CHECK(skips.cuts_before == std::vector<int>{0, 1, 1, 1, 1, 1, 2, 3, 4});
  UnitGraph branches;
  branches.firsts = {0, 1, 2, 3, 4};
  branches.links = {{0, 1, {}}, {0, 2, {}}, {1, 3, {}}, {2, 3, {}}, {3, 4, {}}};
  branches.order = {4, 1, 0, 2, 3};
  Random random(7);
  for (const UnitGraph& graph : {skips, branches}) {
    for (int round = 0; round < 20; ++round) {
      constexpr std::size_t states = 3;
      std::vector<std::vector<double>> of_unit(graph.firsts.size(), std::vector<double>(states));
      std::vector<std::vector<double>> of_link(graph.links.size(), std::vector<double>(states * states));
      for (std::vector<std::vector<double>>* all : {&of_unit, &of_link}) {
        for (std::vector<double>& costs : *all) {
          for (double& cost : costs)
            cost = random.whole(0, 9) == 0 ? std::numeric_limits<double>::infinity() : 1.0 * random.whole(0, 99);
        }
      }
      const UnitStates found = least_states(graph, of_unit, of_link);
      const double least = least_of_all(graph, of_unit, of_link);
      CHECK(found.cost == least);
      if (std::isinf(least)) continue;
      double cost = 0;
      for (std::size_t unit = 0; unit < of_unit.size(); ++unit) cost += of_unit[unit][found.of_unit[unit]];
      for (std::size_t i = 0; i < of_link.size(); ++i)
        cost += of_link[i][found.of_unit[graph.links[i].from] * states + found.of_unit[graph.links[i].to]];
      CHECK(cost == least);
    }
  }
}

TEST_CASE("branches that no elimination of units with two neighbors joins are one unit") {
  const OwnedJob dense(load_model("densenet121"), nodes_of(8, 16e9), assumptions_of(false), 1e6);
  const UnitGraph graph = unit_graph(dense.facts);
  CHECK(graph.firsts.size() > 10);

  // From `a` on, each convolution reads the sum of all outputs before: units at `b`, `c` and `d` have three neighbors each.
  const Model sums = parse_model(
      "format: 1\nmodel: sums\ninput: {channels: 4, size: 8x8}\nlayers:\n"
      "  - convolution: {filters: 4, kernel: 3, padding: 1}\n    name: a\n"
      "  - convolution: {filters: 4, kernel: 3, padding: 1}\n    name: b\n"
      "  - add:\n    from: [a, b]\n    name: to_c\n"
      "  - convolution: {filters: 4, kernel: 3, padding: 1}\n    name: c\n"
      "  - add:\n    from: [a, b, c]\n    name: to_d\n"
      "  - convolution: {filters: 4, kernel: 3, padding: 1}\n    name: d\n"
      "  - add:\n    from: [a, b, c, d]\n    name: to_e\n"
      "  - convolution: {filters: 4, kernel: 3, padding: 1}\n    name: e\n"
      "  - convolution: {filters: 4, kernel: 1}\n  - loss: cross_entropy\n",
      "sums.yaml");
  const std::vector<int> firsts = unit_graph(facts_of(sums)).firsts;
  for (const int first : firsts) {
    const std::string& name = sums.layers[static_cast<std::size_t>(first)].name;
    INFO(name);
    for (const std::string inside : {"to_c", "c", "to_d", "d", "to_e"}) CHECK(name != inside);
  }
  const auto begins = [&](const std::string& name) {
    return std::ranges::any_of(firsts, [&](int first) { return sums.layers[static_cast<std::size_t>(first)].name == name; });
  };
  CHECK(begins("b"));
  CHECK(begins("e"));
}

TEST_CASE("a spatial layout begins again where tiles are large enough") {
  const OwnedJob owned(small_u_net(16), nodes_of(8, 16e9), assumptions_of(false), 1e6);
  const Estimator estimator(owned.job);
  const auto& layers = owned.model.layers;
  const auto place_of = [&](const std::string& name) {
    const auto at = std::find_if(layers.begin(), layers.end(), [&](const Layer& each) { return each.name == name; });
    REQUIRE(at != layers.end());
    return static_cast<int>(at - layers.begin());
  };
  // Tiles of 8 have two rows of 16, one row of 8, and no row of the 4 in `bottom`.
  const Mesh tiles(Tiles{8, 1, 1});
  Plan plan = plan_on(tiles, 8);
  const auto lay_out = [&](const std::string& first, const std::string& behind) {
    plan.segments = {{place_of(first), Mesh{{Axis::data, 8}}}, {place_of(behind), tiles}};
    return estimator.limits(plan);
  };
  REQUIRE(!lay_out("down2", "bottom").empty());
  CHECK(lay_out("down2", "bottom").begin()->kind == Limit::Kind::segment_tiles);
  REQUIRE(lay_out("bottom", "up2").empty());
  // 512 channels on 8³ positions: each rank has one of the 8 samples, and needs an eighth of each.
  const Texts texts = exchanges_of(estimator, plan, place_of("up2"));
  const auto has = [&](const std::string& part) {
    const auto contains = [&](const std::string& each) { return each.find(part) != std::string::npos; };
    return std::any_of(texts.begin(), texts.end(), contains);
  };
  CHECK(has("forward point-to-point"));  // halos of the tiles
  CHECK(has(fmt::format("forward all-to-all of {} among", 512 * 8 * 8 * 8 / 8)));
  CHECK(has("backward all-to-all"));
  CHECK(!has("allgather"));  // as if each rank had the whole tensor before
  CHECK(estimator.estimate(plan).time.step_time() > Seconds{});
}

TEST_CASE("every layer that reads a tensor from another mesh exchanges the halos of its tiles") {
  const Model model = parse_model(R"(format: 1
model: two-readers
input: {channels: 1, size: 16x16x16}
layers:
  - convolution: {filters: 32, kernel: 3, padding: 1}
    name: down1
  - convolution: {filters: 256, kernel: 3, stride: 2, padding: 1}
    name: down2
  - convolution: {filters: 1024, kernel: 3, stride: 2, padding: 1}
    name: bottom
  - transposed_convolution: {filters: 256, kernel: 2, stride: 2}
    name: larger
  - convolution: {filters: 256, kernel: 1}
    name: first
  - convolution: {filters: 256, kernel: 3, padding: 1}
    from: larger
    name: second
  - add:
    from: [first, second]
  - loss: cross_entropy
)",
                                  "two-readers.yaml");
  const OwnedJob owned(model, nodes_of(8, 16e9), assumptions_of(false), 1e6);
  const Estimator estimator(owned.job);
  const auto place_of = [&](const std::string& name) {
    const auto at = std::ranges::find_if(model.layers, [&](const Layer& each) { return each.name == name; });
    return static_cast<int>(at - model.layers.begin());
  };
  const Mesh tiles(Tiles{8, 1, 1});
  Plan plan = plan_on(tiles, 8);
  plan.segments = {{place_of("bottom"), Mesh{{Axis::data, 8}}}, {place_of("first"), tiles}};
  REQUIRE(estimator.limits(plan).empty());
  const auto begins = [&](const std::string& layer, const std::string& text) {
    return std::ranges::any_of(exchanges_of(estimator, plan, place_of(layer)),
                               [&](const std::string& each) { return each.starts_with(text); });
  };
  // `first` reads single positions, and receives the tiles for both.
  CHECK(begins("first", "forward all-to-all"));
  CHECK(!begins("first", "forward point-to-point"));
  CHECK(begins("second", "forward point-to-point"));
  CHECK(!begins("second", "forward all-to-all"));
}

}  // namespace

}  // namespace unit_graph_tests
