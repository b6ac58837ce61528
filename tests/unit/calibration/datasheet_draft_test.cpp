#include "calibration/inputs/datasheet_draft.hpp"

#include <algorithm>
#include <string>

#include "calibration/inputs/machine_reader.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace datasheet_draft_tests {

using namespace ddl;

namespace {

/// A sheet of six numbers.
Datasheet six_numbers() {
  Datasheet sheet;
  sheet.name = "lab";
  sheet.peaks = {{Precision::bf16, FlopRate(500e12)}};
  sheet.memory = Bytes(96e9);
  sheet.memory_bandwidth = Bandwidth(3e12);
  sheet.links = Bandwidth(400e9);
  sheet.network = Bandwidth(25e9);
  sheet.per_node = 8;
  return sheet;
}

bool finds(const MachineDraft& draft, const std::string& start) {
  return std::any_of(draft.findings.begin(), draft.findings.end(),
                     [&](const std::string& finding) { return finding.starts_with(start); });
}

}  // namespace

TEST_CASE("a sheet of six numbers gives a machine with these numbers, and each default is listed") {
  const MachineDraft draft = draft_from_datasheet(six_numbers());
  INFO(draft.text);
  const Machine machine = parse_machine(draft.text, "lab.yaml");
  CHECK(machine.device.peak_at(Precision::bf16)->value() == Approx(500e12));
  // The default is a sixteenth of the rate in half precision.
  CHECK(machine.device.peak_at(Precision::fp32)->value() == Approx(500e12 / 16));
  CHECK(machine.device.memory.value() == Approx(96e9));
  CHECK(machine.device.memory_bandwidth.value() == Approx(3e12));
  CHECK(machine.devices_per_node() == 8);
  REQUIRE(machine.levels.size() == 2);
  // 0.75 of the links' rate inside a node, 0.9 of the network's, by default.
  CHECK(machine.levels[0].bandwidth.value() * machine.levels[0].rails == Approx(0.75 * 400e9));
  CHECK(machine.levels[1].bandwidth.value() * machine.levels[1].rails == Approx(0.9 * 8 * 25e9));
  for (const char* start : {"Peak in fp32:", "Kernel times:", "Latency inside a node:", "Links inside a node:",
                            "Nodes: 16, assumed", "Fabric:", "Network: 0.9, assumed", "Price:", "Host:", "Storage:"}) {
    INFO(start);
    CHECK(finds(draft, start));
  }
}

TEST_CASE("a machine of known GPUs has their numbers, and the given nodes and network") {
  Datasheet sheet;
  sheet.name = "lab";
  sheet.gpu = "mi300x";
  sheet.per_node = 4;
  sheet.nodes = 16;
  sheet.network = Bandwidth(50e9);
  const MachineDraft draft = draft_from_datasheet(sheet);
  INFO(draft.text);
  const SourcedMachine read = parse_sourced_machine(draft.text, "lab.yaml");
  CHECK(read.extends == "server-mi300x");
  CHECK(read.machine.device.name == "AMD Instinct MI300X");
  CHECK(read.machine.devices_per_node() == 4);
  CHECK(read.machine.devices() == 64);
  CHECK(read.machine.levels[1].rails == 4);
}

TEST_CASE("a GPU of a machine without a network gets one") {
  Datasheet sheet;
  sheet.name = "lab";
  sheet.gpu = "rtx4090";
  sheet.nodes = 2;
  CHECK(error_of([&] { (void)draft_from_datasheet(sheet); }) ==
        "2 nodes need a network\nhint: add the rate of each GPU's share of it: --network 400Gb/s");
  sheet.network = Bandwidth(12.5e9);
  CHECK(parse_machine(draft_from_datasheet(sheet).text, "lab.yaml").devices() == 16);
}

TEST_CASE("an incomplete sheet is refused with the options that are missing") {
  Datasheet sheet = six_numbers();
  sheet.memory_bandwidth.reset();
  sheet.links.reset();
  CHECK(error_of([&] { (void)draft_from_datasheet(sheet); }) ==
        "the sheet of the GPU is incomplete\nhint: add --memory-bandwidth 2TB/s --links 300GB/s; or name a known GPU with "
        "--gpu");
}

}  // namespace datasheet_draft_tests
