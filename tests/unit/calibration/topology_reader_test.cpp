// Tests the key 'topology' of machine files, and contention and congestion in coefficients.

#include <string>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/calibration/error_texts.hpp"

namespace topology_reader_tests {

using namespace ddl;

namespace {

/// A machine with two levels. The topology is the last key of the file.
const std::string two_levels = R"(format: 1
machine: toy
description: nodes in some network
sources: {sheet: the data sheet}
device:
  name: T1
  peak: {fp32: {value: 10 TFLOP/s, source: sheet}}
  memory: {value: 16 GiB, source: sheet}
  memory_bandwidth: {value: 900 GB/s, source: sheet}
  tile: {value: 64, source: sheet}
levels:
  - name: node
    units: {value: 4, source: sheet}
    latency: {value: 2 us, source: sheet}
    bandwidth: {value: 50 GB/s, source: sheet}
    rails: {value: 3, source: sheet}
  - name: network
    units: {value: 16, source: sheet}
    latency: {value: 5 us, source: sheet}
    bandwidth: {value: 100 Gb/s, source: sheet}
    rails: {value: 2, source: sheet}
)";

const std::string torus = R"(topology:
  kind: {value: torus, source: sheet}
  extents: {value: [4, 4], source: sheet}
  link_bandwidth: {value: 10 GB/s, source: sheet}
  hop_latency: {value: 300 ns, source: sheet}
)";
const std::string dragonfly = R"(topology:
  kind: {value: dragonfly, source: sheet}
  nodes_per_router: {value: 2, source: sheet}
  routers_per_group: {value: 2, source: sheet}
  global_links: {value: 2, source: sheet}
  link_bandwidth: {value: 10 GB/s, source: sheet}
  global_bandwidth: {value: 5 GB/s, source: sheet}
)";
const std::string loop = R"(topology:
  kind: {value: distributed-loop, source: sheet}
  shortcuts: {value: [2, 4], source: sheet}
  link_bandwidth: {value: 10 GB/s, source: sheet}
)";

const std::string optical = R"(topology:
  kind: {value: optical-circuits, source: sheet}
  circuits: {value: [1, 4], source: sheet}
  link_bandwidth: {value: 10 GB/s, source: sheet}
  packet_bandwidth: {value: 2.5 GB/s, source: sheet}
)";

Machine machine_with(const std::string& topology) { return parse_machine(two_levels + topology, "m.yaml"); }

std::string error_with(const std::string& topology, const std::string& from, const std::string& to) {
  const std::string text = edited(topology, from, to);
  return error_of([&] { (void)machine_with(text); });
}

const std::string measured = R"(format: 1
name: toy-run
machine: toy
description: a measurement
generator: a person
date: 2026-01-01
sources: {log: the log}
contention:
  - {level: network, groups: 2, phi: 1.1, source: log}
  - {level: network, groups: 4, phi: 2.3, source: log}
congestion:
  - {level: network, median: 1.2, spread: 1.5, source: log}
software:
  name: {value: Toy 1.0, source: log}
  gradient_density: {value: 0.01, source: log}
)";

std::string coefficients_error(const std::string& from, const std::string& to) {
  const std::string text = edited(measured, from, to);
  return error_of([&] { (void)parse_coefficients(text, "c.yaml"); });
}

}  // namespace

TEST_CASE("nodes are joined according to the topology") {
  CHECK(machine_with("").network == nullptr);
  CHECK(machine_with("topology: {kind: {value: fat-tree, source: sheet}}\n").network == nullptr);
  const Machine grid = machine_with(torus);
  CHECK(grid.shape.kind == NetworkShape::Kind::torus);
  CHECK(grid.shape.extents == std::vector<int>{4, 4});
  CHECK(grid.shape.link_bandwidth == Bandwidth(10e9));
  CHECK(grid.shape.hop_latency.value() == Approx(300e-9));
  CHECK(grid.network != nullptr);
  CHECK(machine_with(dragonfly).shape.global_bandwidth == Bandwidth(5e9));
  CHECK(machine_with(loop).shape.shortcuts == std::vector<int>{2, 4});
  const Machine circuits = machine_with(optical);
  CHECK(circuits.shape.kind == NetworkShape::Kind::optical_circuits);
  CHECK(circuits.shape.shortcuts == std::vector<int>{1, 4});
  CHECK(circuits.shape.global_bandwidth == Bandwidth(2.5e9));
  CHECK(circuits.network != nullptr);
  CHECK(machine_with("topology: {kind: {value: rail-optimised, source: sheet}}\n").network != nullptr);
  const SourcedMachine sheet = parse_sourced_machine(two_levels + torus, "m.yaml");
  bool listed = false;
  for (const SourcedNumber& number : sheet.numbers) {
    if (number.key == "topology.extents") listed = number.value == "4x4" && number.source == "the data sheet";
  }
  CHECK(listed);
}

TEST_CASE("fails with an unknown topology") {
  CHECK(error_with(torus, "value: torus", "value: tours") ==
        "m.yaml:23:17: unknown topology 'tours'\n"
        "    kind: {value: tours, source: sheet}\n"
        "                  ^\n"
        "hint: known: fat-tree, rail-optimised, dragonfly, torus, distributed-loop, optical-circuits");
  CHECK(first_line(error_with(torus, "  extents", "  extent")) == "m.yaml:24:3: unknown key 'extent'");
  CHECK(first_line(error_with(torus, "  link_bandwidth: {value: 10 GB/s, source: sheet}\n", "")) ==
        "m.yaml:23:3: the key 'link_bandwidth' is missing");
  CHECK(first_line(error_with(torus, "[4, 4]", "[4, 5]")) == "m.yaml:24:20: 4x5 nodes, but the level has 16");
  CHECK(first_line(error_with(torus, "[4, 4]", "[]")) == "m.yaml:24:20: no extents");
  CHECK(first_line(error_with(torus, "[4, 4]", "[0, 4]")) == "m.yaml:24:21: '0' is too small: at least 1");
  CHECK(first_line(error_with(torus, "10 GB/s", "10 GB")) == "m.yaml:25:27: '10 GB' is a size, not a bandwidth");
  CHECK(first_line(error_with(loop, "[2, 4]", "[2, 2]")) == "m.yaml:24:26: 2 is given twice");
  CHECK(first_line(error_with(optical, "[1, 4]", "[]")) == "m.yaml:24:21: no circuits");
  CHECK(first_line(error_with(optical, "[1, 4]", "[9]")) == "m.yaml:24:22: '9' is too large: at most 8");
  CHECK(first_line(error_with(loop, "[2, 4]", "[2, 40]")) == "m.yaml:24:26: '40' is too large: at most 15");
  CHECK(first_line(error_with(dragonfly, "global_links: {value: 2,", "global_links: {value: 1,")) ==
        "m.yaml:26:17: a group's 2 global links do not reach the 3 other groups");
}

TEST_CASE("fails with levels that do not match the topology") {
  const std::string three = edited(two_levels + torus, "topology:", R"(  - name: system
    units: {value: 2, source: sheet}
    latency: {value: 5 us, source: sheet}
    bandwidth: {value: 100 Gb/s, source: sheet}
    oversubscription: {value: 1, source: sheet}
topology:)");
  CHECK(first_line(error_of([&] { (void)parse_machine(three, "m.yaml"); })) ==
        "m.yaml:28:17: 3 levels, but torus connects all nodes");
  const std::string rails = edited(two_levels + "topology: {kind: {value: rail-optimised, source: sheet}}\n",
                                   "rails: {value: 2,", "rails: {value: 2.5,");
  CHECK(first_line(error_of([&] { (void)parse_machine(rails, "m.yaml"); })) ==
        "m.yaml:22:26: the level 'network' has 2.5 rails");
  const std::string large =
      edited(two_levels + edited(torus, "[4, 4]", "[2000, 1000]"), "units: {value: 16,", "units: {value: 2000000,");
  CHECK(first_line(error_of([&] { (void)parse_machine(large, "m.yaml"); })) == "m.yaml:23:17: more than 20000 nodes");
  const std::string links =
      edited(two_levels + edited(dragonfly, "routers_per_group: {value: 2,", "routers_per_group: {value: 5000,"),
             "units: {value: 16,", "units: {value: 10000,");
  CHECK(first_line(error_of([&] { (void)parse_machine(links, "m.yaml"); })).find(" links") != std::string::npos);
  // In a ring of a thousand nodes, the longest route is half of the ring.
  const std::string ring =
      edited(two_levels + edited(torus, "[4, 4]", "[1000]"), "units: {value: 16,", "units: {value: 1000,");
  CHECK(first_line(error_of([&] { (void)parse_machine(ring, "m.yaml"); })) ==
        "m.yaml:23:17: the longest route has 500 links");
  const std::string bare = edited(two_levels + edited(loop, "[2, 4]", "[]"), "units: {value: 16,", "units: {value: 1000,");
  CHECK(first_line(error_of([&] { (void)parse_machine(bare, "m.yaml"); })) ==
        "m.yaml:23:17: the longest route has 500 links");
}

TEST_CASE("measured φ and congestion are read") {
  const Coefficients coefficients = parse_coefficients(measured, "c.yaml");
  REQUIRE(coefficients.contention.size() == 2);
  CHECK(coefficients.contention[1].level == "network");
  CHECK(coefficients.contention[1].groups == 4);
  CHECK(coefficients.contention[1].phi == 2.3);
  CHECK(coefficients.contention[1].source == "the log");
  REQUIRE(coefficients.congestion.size() == 1);
  CHECK(coefficients.congestion[0].median == 1.2);
  CHECK(coefficients.congestion[0].spread == 1.5);
  CHECK(coefficients.software.gradient_density == 0.01);
}

TEST_CASE("fails with impossible φ and congestion") {
  CHECK(first_line(coefficients_error("phi: 1.1", "phi: 0")) == "c.yaml:9:38: must be greater than 0");
  CHECK(first_line(coefficients_error("phi: 1.1", "phi: inf")).find("c.yaml:9:38") == 0);
  CHECK(first_line(coefficients_error("groups: 2", "groups: 4")) == "c.yaml:10:5: duplicate φ of 4 groups on 'network'");
  CHECK(first_line(coefficients_error("median: 1.2", "median: 0.9")) == "c.yaml:12:30: must be at least 1");
  CHECK(first_line(coefficients_error("spread: 1.5", "spread: 0")) == "c.yaml:12:43: must be at least 1");
  CHECK(first_line(coefficients_error("value: 0.01", "value: 0")).find("c.yaml:") == 0);
  CHECK(first_line(coefficients_error("level: network, groups: 2", "lvl: network, groups: 2")) ==
        "c.yaml:9:6: unknown key 'lvl'");
}

}  // namespace topology_reader_tests
