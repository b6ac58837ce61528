#include "calibration/communication/network_section.hpp"

#include <string>
#include <vector>

#include "calibration/coefficients_reader.hpp"
#include "calibration/communication/measured_levels.hpp"
#include "calibration/machine_reader.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

const std::string head =
    "format: 1\nname: n\nmachine: dgx-a100\ndescription: d\ngenerator: g\ndate: 2026-01-02\nsources: {}\n";

std::vector<MeasuredNetwork> example() {
  MeasuredNetwork inside{.operation = Collective::point_to_point,
                         .level = NetworkLevel::node,
                         .algorithm = "direct",
                         .min_message = 1_B,
                         .max_message = 4_MiB,
                         .alpha = MeasuredValue<Seconds>{3.1_us, std::nullopt, 3.3_us},
                         .bandwidth = MeasuredValue<Bandwidth>{Bandwidth(1 / 3.3e-12), Bandwidth(2e11), std::nullopt},
                         .r2 = 0.9987654321,
                         .median_residual = 0.0123,
                         .worst_residual = 0.4,
                         .points = 21,
                         .source = R"(a "quoted" \ name.txt, by OSU micro-benchmarks 7.4)"};
  MeasuredNetwork between{.operation = Collective::allreduce,
                          .level = NetworkLevel::between_nodes,
                          .algorithm = "hierarchical ring",
                          .shared = true,
                          .min_ranks = 16,
                          .max_ranks = 64,
                          .min_nodes = 2,
                          .max_nodes = 8,
                          .min_message = 1_MiB,
                          .max_message = Bytes(1e9 / 3),
                          .alpha = std::nullopt,
                          .bandwidth = MeasuredValue<Bandwidth>{24.0_GBps, 23.0_GBps, 25.0_GBps},
                          .r2 = 1,
                          .points = 3,
                          .source = "b.txt"};
  return {inside, between};
}

std::string error_in(const std::string& section) {
  return error_of([&] { (void)parse_coefficients(head + section, "c.yaml"); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("measured links are read back as they were written") {
  const std::vector<MeasuredNetwork> network = example();
  const std::string text = head + print_measured_network(network);
  CHECK(parse_coefficients(text, "c.yaml").network == network);
  CHECK(parse_coefficients(head + print_measured_network({}), "c.yaml").network.empty());
}

TEST_CASE("a new section takes the place of the old one and leaves the rest of the file") {
  const std::vector<MeasuredNetwork> network = example();
  const std::string models = "models: []\n";
  const std::string before = head + "\n" + print_measured_network({network.data(), 1}) + models;
  const std::string after = with_network_section(before, network);
  CHECK(after == head + "\n" + print_measured_network(network) + models);
  CHECK(with_network_section(after, network) == after);
  CHECK(with_network_section("a: 1", {}) == "a: 1\n\ncommunication: []\n");
}

TEST_CASE("what is wrong with the section is said with its place") {
  std::string section = print_measured_network(example());
  const auto with = [&](const std::string& old, const std::string& replacement) {
    std::string text = section;
    text.replace(text.find(old), old.size(), replacement);
    return error_in(text);
  };
  CHECK(contains(with("point-to-point", "pont-to-point"), "c.yaml:9:16: unknown operation 'pont-to-point'"));
  CHECK(contains(with("level: node", "level: rack"), "known: node, between-nodes"));
  CHECK(contains(with("ranks: [2, 2]", "ranks: [4, 2]"), "the second number is below the first"));
  CHECK(contains(with("ranks: [2, 2]", "ranks: [2]"), "expected 2 items, found 1"));
  CHECK(contains(with("messages: [1 B, 4 MiB]", "messages: [4 MiB, 1 B]"), "the second size is below the first"));
  CHECK(contains(with("3.3 us]", "3 us]"), "the value lies outside its interval"));
  CHECK(contains(with("alpha: [3.1 us", "alpha: [3.1"), "3.1"));
  CHECK(contains(with("    source: \"b.txt\"\n", ""), "source"));
  CHECK(contains(with("    bandwidth: [24 GB/s, 23 GB/s, 25 GB/s]\n", ""), "neither 'alpha' nor 'bandwidth'"));
  CHECK(contains(with("points: 21", "point: 21"), "did you mean 'points'"));
}

TEST_CASE("measured levels take the place of the data sheet's") {
  const Machine sheet = load_machine("dgx-a100");
  REQUIRE(sheet.levels.size() >= 2);
  const Machine measured = with_measured_levels(sheet, example());
  CHECK(measured.levels[0].latency == 3.1_us);
  // A device's link, striped over the rails of its level.
  CHECK(measured.levels[0].bandwidth.value() * measured.levels[0].rails == Approx(1 / 3.3e-12));
  // Eight ranks of a node sent at once, each with 24 GB/s.
  CHECK(measured.levels[1].bandwidth.value() * measured.levels[1].rails == Approx(8 * 24e9));
  CHECK(measured.levels[1].latency == sheet.levels[1].latency);  // not measured
  const Machine same = with_measured_levels(sheet, {});
  CHECK(same.levels[0].bandwidth == sheet.levels[0].bandwidth);
}
