#include "calibration/network/fits/network_section.hpp"

#include <string>
#include <vector>

#include "calibration/inputs/coefficients_reader.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace network_section_tests {

using namespace ddl;

namespace {

const std::string head =
    "format: 1\nname: n\nmachine: dgx-a100\ndescription: d\ngenerator: g\ndate: 2026-01-02\nsources: {}\n";

std::vector<MeasuredCurve> example() {
  MeasuredCurve inside{.operation = Collective::point_to_point,
                       .ranks = 2,
                       .nodes = 1,
                       .window = 64,
                       .both_ways = true,
                       .points = {{1_B, 3.1_us}, {4_MiB, Seconds(1e-4 / 3)}},
                       .tool = "OSU micro-benchmarks 7.4",
                       .date = "2026-11-23",
                       .source = R"(a "quoted" \ name.txt)"};
  MeasuredCurve between{.operation = Collective::allreduce,
                        .ranks = 16,
                        .nodes = 2,
                        .points = {{Bytes(8363520), Seconds(0.024123), "Tree LL128"}, {1_GiB, Seconds(1.5), "Ring"}},
                        .spread = 1.0722,
                        .source = "b.txt"};
  return {inside, between};
}

std::string error_in(const std::string& section) {
  return error_of([&] { (void)parse_coefficients(head + section, "c.yaml"); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("measured times are read back as they were written") {
  const std::vector<MeasuredCurve> network = example();
  const std::string text = head + print_measured_network(network);
  CHECK(parse_coefficients(text, "c.yaml").exchanges.curves() == network);
  CHECK(parse_coefficients(head + print_measured_network({}), "c.yaml").exchanges.empty());
  // All times of five digits have one unit.
  CHECK(contains(text, "[8167.5 KiB, 24123 us, Tree LL128]"));
  CHECK(contains(text, "[1 GiB, 1500000 us, Ring]"));
}

TEST_CASE("a new section replaces the old section and keeps the rest of the file") {
  const std::vector<MeasuredCurve> network = example();
  const std::string models = "models: []\n";
  const std::string before = head + "\n" + print_measured_network({network.data(), 1}) + models;
  const std::string after = with_network_section(before, network);
  CHECK(after == head + "\n" + print_measured_network(network) + models);
  CHECK(with_network_section(after, network) == after);
  CHECK(with_network_section("a: 1", {}) == "a: 1\n\ncommunication: []\n");
}

TEST_CASE("errors in the section state their position") {
  std::string section = print_measured_network(example());
  const auto with = [&](const std::string& old, const std::string& replacement) {
    std::string text = section;
    REQUIRE(text.find(old) != std::string::npos);
    text.replace(text.find(old), old.size(), replacement);
    return error_in(text);
  };
  CHECK(contains(with("point-to-point", "pont-to-point"), "c.yaml:9:16: unknown operation 'pont-to-point'"));
  CHECK(contains(with("Tree LL128", "Tree LL12"), "'Tree LL12' is not an algorithm of NCCL"));
  CHECK(contains(with("nodes: 1", "nodes: 4"), "4 nodes exceed the 2 ranks"));
  CHECK(contains(with("ranks: 2\n", "ranks: 1\n"), "ranks: 1"));
  CHECK(contains(with("[1 B, 3.1 us]", "[1 B]"), "expected 2 items, or 3 with the algorithm, found 1"));
  CHECK(contains(with("[1 B, 3.1 us]", "[8 MiB, 3.1 us]"), "this size is not larger than the previous one"));
  CHECK(contains(with("[1 B, 3.1 us]", "[0 B, 3.1 us]"), "0 B"));
  CHECK(contains(with("[1 B, 3.1 us]", "[1 B, 0 us]"), "0 us"));
  CHECK(contains(with("[1 B, 3.1 us]", "[1 B, 3.1]"), "3.1"));
  CHECK(contains(with("    source: \"b.txt\"\n", ""), "source"));
  CHECK(contains(with("spread: 1.0722", "spread: 0.5"), "0.5"));
  CHECK(contains(with("window: 64", "windows: 64"), "did you mean 'window'"));
  CHECK(contains(error_in(section + section.substr(section.find("  - "))), "duplicate entry for"));
  CHECK(contains(error_in("communication:\n  - {operation: allreduce, level: node, alpha: [1 us, unknown, unknown]}\n"),
                 "run `ddl-oracle calibrate network`"));
}

}  // namespace network_section_tests
