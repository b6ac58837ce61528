// Tests of supposed cases: which measured exchanges a change of the network changes, and by how much.

#include "cli/options/what_if.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/units.hpp"
#include "tests/catch.hpp"

namespace what_if_tests {

using namespace ddl;

namespace {

/// Eight devices a node, four nodes a rack, four racks. A rack has half as many links as its nodes.
StudyInputs three_levels() {
  StudyInputs inputs;
  inputs.machine.levels = {
      {.name = "node", .units = 8, .latency = Seconds(1e-6), .bandwidth = Bandwidth(100e9)},
      {.name = "rack", .units = 4, .latency = Seconds(5e-6), .bandwidth = Bandwidth(25e9), .rails = 8},
      {.name = "system", .units = 4, .latency = Seconds(6e-6), .bandwidth = Bandwidth(25e9), .rails = 16}};
  std::vector<MeasuredCurve> curves;
  for (const int nodes : {1, 4, 16}) {
    MeasuredCurve curve{.ranks = 8 * nodes, .nodes = nodes};
    curve.points = {{Bytes(8), Seconds(1e-5), {}}, {Bytes(1e9), Seconds(1.00001), {}}};
    curves.push_back(std::move(curve));
  }
  inputs.coefficients.exchanges = MeasuredExchanges(std::move(curves));
  return inputs;
}

/// Returns the times of the smallest and the largest message between so many nodes, as shares of the measured times.
std::pair<double, double> changed(const std::string& change, int nodes) {
  StudyInputs inputs = three_levels();
  apply_what_if(parse_what_if(change), inputs);
  for (const MeasuredCurve& curve : inputs.coefficients.exchanges.curves()) {
    if (curve.nodes != nodes) continue;
    const double least = curve.points.front().time.value();
    return {least / 1e-5, curve.points.back().time.value() - least};
  }
  return {};
}

}  // namespace

TEST_CASE("a measured exchange follows the narrowest link that it crosses") {
  CHECK(changed("bandwidth(node)*2", 1).second == Approx(0.5));
  CHECK(changed("bandwidth(node)*2", 4).second == Approx(1));
  CHECK(changed("bandwidth(rack)*2", 4).second == Approx(0.5));
  // The links of a rack to the system are half as wide as those of its nodes.
  CHECK(changed("bandwidth(rack)*2", 16).second == Approx(1));
  CHECK(changed("bandwidth(system)*2", 4).second == Approx(1));
  CHECK(changed("bandwidth(system)*2", 16).second == Approx(0.5));
  CHECK(changed("latency(system)*2", 4).first == Approx(1));
  CHECK(changed("latency(system)*2", 16).first == Approx(2));
}

TEST_CASE("several changes of the network change a measured exchange once") {
  for (const int nodes : {4, 16}) {
    INFO(nodes);
    CHECK(changed("bandwidth(between-nodes)*2", nodes).second == Approx(0.5));
    CHECK(changed("bandwidth(rack)*2 bandwidth(system)*2", nodes).second == Approx(0.5));
    CHECK(changed("latency(rack)*3 latency(system)*3", nodes).first == Approx(3));
  }
  CHECK(changed("bandwidth*2", 1).second == Approx(0.5));
  CHECK(changed("bandwidth*2 bandwidth(node)*2", 1).second == Approx(0.25));
}

}  // namespace what_if_tests
