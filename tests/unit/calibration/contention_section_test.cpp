#include "calibration/network/fits/contention_section.hpp"

#include <string>
#include <vector>

#include "calibration/inputs/coefficients_reader.hpp"
#include "tests/catch.hpp"

namespace ddl::contention_section_tests {
namespace {

const std::string file = R"(format: 1
name: ours
machine: two
description: d
generator: hand
date: 2026-01-31
sources: {log: a log}
contention:
  - {level: fabric, groups: 2, phi: 3, source: log}
  - {level: spine, groups: 4, phi: 1.5, source: log}
congestion:
  - {level: fabric, median: 1.1, spread: 1.3, source: log}
)";

Machine machine_of(int rails) {
  Machine machine;
  machine.levels.resize(2);
  machine.levels[1].name = "fabric";
  machine.levels[1].rails = rails;
  return machine;
}

}  // namespace

TEST_CASE("A measured φ only replaces the φ of its level") {
  const Coefficients before = parse_coefficients(file, "before");
  const std::vector<ContentionPoint> points{{1, 1, {1, 1}}, {4, 2, {1.9, 2.1}}};
  const auto measured = measured_contention(points, machine_of(1), "a sweep: \"ours\"");
  const Coefficients after = parse_coefficients(with_contention_section(file, before.contention, measured), "after");
  REQUIRE(after.contention.size() == 3);
  CHECK(after.contention[0].level == "spine");
  CHECK(after.contention[0].phi == 1.5);
  CHECK(after.contention[0].source == "a log");
  CHECK(after.contention[2].level == "fabric");
  CHECK(after.contention[2].groups == 4);
  CHECK(after.contention[2].phi == 2);
  CHECK(after.contention[2].source == "a sweep: \"ours\"");
  CHECK(after.congestion.size() == 1);
}

TEST_CASE("A single group with one rank per node has φ one, for any number of rails") {
  const std::vector<ContentionPoint> points{{1, 1, {1, 1}}, {4, 2, {1.9, 2.1}}};
  const auto measured = measured_contention(points, machine_of(4), "a sweep");
  REQUIRE(measured.size() == 2);
  CHECK(measured[0].phi == 1);
  CHECK(measured[1].phi == 2);
  Machine one_node = machine_of(4);
  one_node.levels.resize(1);
  CHECK(measured_contention(points, one_node, "a sweep").empty());
}

}  // namespace ddl::contention_section_tests
