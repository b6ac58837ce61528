#include "calibration/inputs/machine_text.hpp"

#include <string>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_basis.hpp"
#include "tests/catch.hpp"
#include "tests/unit/calibration/error_texts.hpp"

namespace machine_text_tests {

using namespace ddl;

namespace {

void check_same(const SourcedMachine& before, const SourcedMachine& after) {
  CHECK(after.machine.name == before.machine.name);
  CHECK(after.machine.description == before.machine.description);
  CHECK(after.machine.device.name == before.machine.device.name);
  CHECK(after.machine.device.is_processor == before.machine.device.is_processor);
  CHECK(after.machine.device.profile_names == before.machine.device.profile_names);
  CHECK(after.machine.shape.kind == before.machine.shape.kind);
  CHECK(after.machine.shape.extents == before.machine.shape.extents);
  CHECK(after.machine.shape.shortcuts == before.machine.shape.shortcuts);
  REQUIRE(after.machine.levels.size() == before.machine.levels.size());
  for (std::size_t i = 0; i < before.machine.levels.size(); ++i) {
    CHECK(after.machine.levels[i].name == before.machine.levels[i].name);
    CHECK(after.machine.levels[i].rails == before.machine.levels[i].rails);
    CHECK(after.machine.levels[i].bandwidth == before.machine.levels[i].bandwidth);
  }
  REQUIRE(after.numbers.size() == before.numbers.size());
  for (std::size_t i = 0; i < before.numbers.size(); ++i) {
    INFO(before.numbers[i].key);
    CHECK(after.numbers[i].key == before.numbers[i].key);
    CHECK(after.numbers[i].value == before.numbers[i].value);
    CHECK(after.numbers[i].source == before.numbers[i].source);
  }
}

SourcedMachine again(const SourcedMachine& sheet) {
  const std::string text = machine_text(sheet);
  INFO(text);
  return parse_sourced_machine(text, "again.yaml");
}

const std::string small = R"(format: 1
machine: "a: b # c"
description: |
  two lines: "quoted" \ and
  a tab	too
sources: {s: 'measured: by "us"', "odd: key": assumed}
device:
  name: "-x"
  profile_names: ["null", 'it''s', "1"]
  peak: {fp32: {value: 10 TFLOP/s, source: s}}
  memory: {value: 16 GiB, source: s}
  memory_bandwidth: {value: 900 GB/s, source: s}
  tile: {value: 64, source: "odd: key"}
levels:
  - name: a.units
    units: {value: 4, source: s}
    latency: {value: 9 µs, source: s}
    bandwidth: {value: 50 GB/s, source: s}
    rails: {value: 3, source: s}
  - name: a
    units: {value: 16, source: s}
    latency: {value: 9 us, source: s}
    bandwidth: {value: 50 GB/s, source: s}
    rails: {value: 3, source: s}
)";

const std::string torus =
    "topology:\n  kind: {value: torus, source: s}\n  extents: {value: [2, 2, 4], source: s}\n"
    "  link_bandwidth: {value: 25 GB/s, source: s}\n  hop_latency: {value: 300 ns, source: s}\n";
const std::string loop =
    "topology:\n  kind: {value: distributed-loop, source: s}\n  shortcuts: {value: [2, 4], source: s}\n"
    "  link_bandwidth: {value: 25 GB/s, source: s}\n";
const std::string circuits =
    "topology:\n  kind: {value: optical-circuits, source: s}\n  circuits: {value: [1, 4], source: s}\n"
    "  link_bandwidth: {value: 25 GB/s, source: s}\n  packet_bandwidth: {value: 5 GB/s, source: s}\n";

NumberBasis kernels_of(const std::string& peak_source, const std::string& tile_source) {
  const std::string sources = "sources: {s: '" + peak_source + "', \"odd: key\": " + tile_source + "}";
  const std::string text = edited(small, "sources: {s: 'measured: by \"us\"', \"odd: key\": assumed}", sources);
  return basis_of(parse_sourced_machine(text, "m.yaml"), std::nullopt).kernels;
}

}  // namespace

TEST_CASE("every bundled machine that is written reads back the same") {
  for (const std::string& name : machine_names()) {
    INFO(name);
    const SourcedMachine sheet = load_sourced_machine(name);
    check_same(sheet, again(sheet));
    CHECK(machine_text(again(sheet)) == machine_text(sheet));
  }
}

TEST_CASE("a written machine keeps its software") {
  const SourcedMachine sheet = load_sourced_machine("tpu-v4");
  const SourcedMachine written = again(sheet);
  const SourcedNumber* const software = find_number(written, "software");
  REQUIRE(software != nullptr);
  CHECK(software->value == "jax");
  CHECK(software->source.find("maxtext") != std::string::npos);
}

TEST_CASE("names, texts and keys that YAML could misunderstand read back the same") {
  const SourcedMachine sheet = parse_sourced_machine(small, "m.yaml");
  CHECK(sheet.machine.name == "a: b # c");
  check_same(sheet, again(sheet));
}

TEST_CASE("networks other than trees read back the same") {
  for (const std::string& topology : {torus, loop, circuits}) {
    const SourcedMachine sheet = parse_sourced_machine(small + topology, "m.yaml");
    check_same(sheet, again(sheet));
  }
}

TEST_CASE("two citations with one key get two keys in the written file") {
  // perlmutter and the machine that it extends both have a key `nccl` for the same citation. Here, the two citations differ.
  const SourcedMachine sheet = parse_sourced_machine(
      "format: 1\nmachine: m\nextends: dgx-a100\nsources: {pcie: a slot of my own}\n"
      "host:\n  devices_per_link: {value: 1, source: pcie}\n",
      "m.yaml");
  const std::string text = machine_text(sheet);
  CHECK(text.find("  pcie: \"PCIe Gen4 x16\"\n  pcie-2: \"a slot of my own\"\n") != std::string::npos);
  check_same(sheet, again(sheet));
}

TEST_CASE("texts are quoted only if necessary") {
  CHECK(yaml_scalar("900 GB/s") == "900 GB/s");
  CHECK(yaml_scalar("NVIDIA A100 SXM4 80 GB") == "NVIDIA A100 SXM4 80 GB");
  CHECK(yaml_scalar("-0.5") == "-0.5");
  CHECK(yaml_scalar("- x") == "\"- x\"");
  CHECK(yaml_scalar("a: b") == "\"a: b\"");
  CHECK(yaml_scalar("null") == "\"null\"");
  CHECK(yaml_scalar("a\xC2\x85"
                    "b") == "\"a\\x85b\"");
  CHECK(yaml_scalar("a\n\"b\"\\") == "\"a\\n\\\"b\\\"\\\\\"");
}

TEST_CASE("the basis of kernels and network follows from the citations") {
  CHECK(kernels_of("measured: by us", "assumed") == NumberBasis::published);  // a tile is not a time
  CHECK(kernels_of("the data sheet", "assumed") == NumberBasis::data_sheet);
  CHECK(kernels_of("assumed: a guess", "sheet") == NumberBasis::assumed);
  const auto basis = [](const std::string& name) {
    const SourcedMachine sheet = load_sourced_machine(name);
    return basis_of(sheet, bundled_coefficients(name));
  };
  CHECK(basis("abci").kernels == NumberBasis::measured);
  CHECK(basis("dgx-h100").kernels == NumberBasis::published);
  CHECK(basis("dgx-h100").network == NumberBasis::mixed);  // measured only inside nodes
  CHECK(basis("polaris").network == NumberBasis::measured);
  CHECK(basis("azure-nd-h100").network == NumberBasis::published);
  CHECK(basis("aws-p5").network == NumberBasis::mixed);  // the rate of this network is assumed
  CHECK(basis("dgx-1-v100").network == NumberBasis::mixed);
  CHECK(basis("workstation-rtx4090").kernels == NumberBasis::assumed);
  CHECK(basis("workstation-rtx4090").network == NumberBasis::assumed);
}

TEST_CASE("the basis of a network is measured if the coefficients have measurements") {
  Coefficients coefficients;
  const SourcedMachine sheet = load_sourced_machine("dgx-a100");
  CHECK(basis_of(sheet, coefficients).network == NumberBasis::published);
  coefficients.exchanges = MeasuredExchanges({MeasuredCurve{.ranks = 16, .nodes = 2, .points = {{1_MiB, 1.0_ms}}}});
  CHECK(basis_of(sheet, coefficients).network == NumberBasis::measured);
  CHECK(basis_of(sheet, coefficients).kernels == NumberBasis::published);
}

}  // namespace machine_text_tests
