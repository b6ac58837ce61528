#include "calibration/inputs/machine_reader.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "calibration/files/bundled_files.hpp"
#include "calibration/inputs/device_file.hpp"
#include "calibration/inputs/machine_names.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/calibration/error_texts.hpp"

namespace machine_reader_tests {

using namespace ddl;

namespace {

const std::string small_machine = R"(format: 1
machine: toy
description: three levels
sources: {sheet: the data sheet, guess: assumed}
device:
  name: T1
  peak:
    fp32: {value: 10 TFLOP/s, source: sheet}
    bf16: {value: 80 TFLOP/s, source: sheet}
  memory: {value: 16 GiB, source: sheet}
  memory_bandwidth: {value: 900 GB/s, source: sheet}
  tile: {value: 64, source: guess}
  attainable_peak: {value: 0.8, source: guess}
levels:
  - name: node
    units: {value: 4, source: sheet}
    latency: {value: 2 us, source: sheet}
    bandwidth: {value: 50 GB/s, source: sheet}
    rails: {value: 3, source: sheet}
  - name: rack
    units: {value: 16, source: sheet}
    latency: {value: 5 us, source: sheet}
    bandwidth: {value: 100 Gb/s, source: sheet}
    attainable: {value: 0.8, source: guess}
    rails: {value: 2, source: sheet}
  - name: system
    units: {value: 8, source: sheet}
    latency: {value: 6 us, source: sheet}
    bandwidth: {value: 20 GB/s, source: sheet}
    oversubscription: {value: 2, source: sheet}
host:
  bandwidth: {value: 16 GB/s, source: sheet}
  devices_per_link: {value: 2, source: guess}
  latency: {value: 20 us, source: guess}
storage:
  shared_total: {value: 150 GB/s, source: sheet}
  local_capacity: {value: 1.6 TB, source: sheet}
  host_memory: {value: 384 GiB, source: sheet}
price: {value: 2.5 EUR/h, source: sheet}
)";

/// Returns the error for the machine file `small_machine` with `from` replaced by `to`.
std::string error_with(const std::string& from, const std::string& to) {
  const std::string text = edited(small_machine, from, to);
  return error_of([&] { (void)parse_machine(text, "m.yaml"); });
}

const SourcedNumber& number_of(const SourcedMachine& sheet, const std::string& key) {
  const auto found =
      std::find_if(sheet.numbers.begin(), sheet.numbers.end(), [&](const auto& number) { return number.key == key; });
  INFO(key);
  REQUIRE(found != sheet.numbers.end());
  return *found;
}

}  // namespace

// ---- valid files ----

TEST_CASE("a machine file may set the time that its host takes to launch a kernel") {
  const std::string tile = "  tile: {value: 64, source: guess}\n";
  const auto with = [&](const std::string& start) {
    return edited(small_machine, tile, tile + "  launch_overhead: {value: " + start + ", source: guess}\n");
  };
  CHECK_FALSE(parse_machine(small_machine, "m.yaml").device.launch_overhead);
  CHECK(parse_machine(with("30 us"), "m.yaml").device.launch_overhead == Seconds(30e-6));
  CHECK(error_of([&] { (void)parse_machine(with("30"), "m.yaml"); }).find("'30' has no unit") != std::string::npos);
  CHECK(error_of([&] { (void)parse_machine(with("-1 us"), "m.yaml"); }).find("m.yaml:") == 0);
}

TEST_CASE("a machine file is read into a machine") {
  const Machine machine = parse_machine(small_machine, "m.yaml");
  CHECK(machine.name == "toy");
  CHECK(machine.description == "three levels");
  CHECK(machine.device.name == "T1");
  CHECK(machine.device.peak_at(Precision::fp32) == FlopRate(10e12));
  CHECK(machine.device.peak_at(Precision::bf16) == FlopRate(80e12));
  CHECK_FALSE(machine.device.peak_at(Precision::fp16).has_value());
  CHECK(machine.device.memory == 16_GiB);
  CHECK(machine.device.memory_bandwidth == Bandwidth(900e9));
  CHECK(machine.device.tile == 64);
  CHECK(machine.device.attainable_peak == 0.8);
  CHECK(machine.device.attainable_bandwidth == 1.0);
  REQUIRE(machine.levels.size() == 3);
  CHECK(machine.levels[0].name == "node");
  CHECK(machine.devices_per_node() == 4);
  CHECK(machine.levels[0].latency == Seconds(2e-6));
  CHECK(machine.levels[0].rails == 3);
  REQUIRE(machine.host.has_value());
  CHECK(machine.host->devices_per_link == 2);
  CHECK(machine.host->latency.value() == Approx(20e-6));
  CHECK_FALSE(machine.storage.shared_per_node.has_value());
  CHECK(machine.storage.shared_total == Bandwidth(150e9));
  CHECK(machine.storage.local_capacity == Bytes(1.6e12));
  CHECK(machine.storage.host_memory == 384_GiB);
  CHECK(machine.price_per_gpu_hour == 2.5);
  CHECK(machine.currency == "EUR");
}

TEST_CASE("the sustained fraction of products may differ by precision") {
  const std::string own = "  attainable_peak: {value: 0.8, source: guess}\n";
  const auto with = [&](const std::string& lines) {
    return parse_machine(edited(small_machine, own, own + lines), "m.yaml").device;
  };
  const Device device =
      with("  sustained_peak: {value: 0.9, source: guess}\n  sustained_peaks:\n    bf16: {value: 0.7, source: guess}\n");
  CHECK(device.sustained_at(Precision::bf16) == 0.7);
  CHECK(device.sustained_at(Precision::fp32) == 0.9);
  CHECK_FALSE(with("  sustained_peaks: none\n").sustained_at(Precision::bf16).has_value());
  const auto error = [&](const std::string& lines) { return error_with(own, own + lines); };
  CHECK(error("  sustained_peaks: {bf17: {value: 0.7, source: guess}}\n").find("m.yaml:14:") == 0);
  CHECK(error("  sustained_peaks: {bf16: {value: 0, source: guess}}\n").find("must be greater than zero") !=
        std::string::npos);
}

TEST_CASE("the power limit belongs to the device that states it") {
  CHECK(load_machine("dgx-h100").device.power == 700);
  CHECK(load_machine("grand-teton").device.power == 500);
  // GH200 extends the machine of H100, but states no power limit.
  CHECK(load_machine("alps").device.power == 0);
  CHECK(error_with("  memory: {value", "  power: {value: 0, source: guess}\n  memory: {value").find("m.yaml:") == 0);
}

TEST_CASE("the attainable fraction of a level lowers its bandwidth") {
  // The link has 100 Gb/s = 12.5 GB/s, and messages reach 0.8 of this: 10 GB/s.
  CHECK(parse_machine(small_machine, "m.yaml").levels[1].bandwidth.value() == Approx(10e9));
}

TEST_CASE("the rails of an outer level follow from all rails of a unit below and the over-subscription") {
  // A rack has 16 nodes × 2 rails of 10 GB/s, half of which go on in rails of 20 GB/s: 32 · 10/20 / 2 = 8.
  const SourcedMachine sheet = parse_sourced_machine(small_machine, "m.yaml");
  CHECK(sheet.machine.levels[2].rails == Approx(8.0));
  const SourcedNumber& rails = number_of(sheet, "levels.system.rails");
  CHECK(rails.value == "8");
  CHECK(rails.source == "derived: 16 times the 2 rails of a node, over-subscribed 2 times");
}

TEST_CASE("every number is kept as written, with its citation") {
  const SourcedMachine sheet = parse_sourced_machine(small_machine, "m.yaml");
  CHECK(number_of(sheet, "device.peak.fp32").value == "10 TFLOP/s");
  CHECK(number_of(sheet, "device.peak.fp32").source == "the data sheet");
  CHECK(number_of(sheet, "levels.rack.bandwidth").value == "100 Gb/s");
  CHECK(number_of(sheet, "levels.rack.attainable").source == "assumed");
  CHECK(number_of(sheet, "price").value == "2.5 EUR/h");
  CHECK(sheet.numbers.front().key == "device.peak.fp32");
}

TEST_CASE("host, storage and price may be left out") {
  const Machine machine = parse_machine(small_machine.substr(0, small_machine.find("host:")), "m.yaml");
  CHECK_FALSE(machine.host.has_value());
  CHECK_FALSE(machine.storage.local_bandwidth.has_value());
  CHECK_FALSE(machine.price_per_gpu_hour.has_value());
}

// ---- the bundled data sheets ----

TEST_CASE("the bundled machines load under their own names, and every number has a unit and a source") {
  const std::vector<std::string> names = machine_names();
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : machine_names()) {
    INFO(name);
    const SourcedMachine sheet = load_sourced_machine(name);
    CHECK(sheet.machine.name == name);
    CHECK(sheet.machine.device.peak_at(Precision::fp32).has_value());
    CHECK(sheet.kind.has_value());
    CHECK(sheet.has_kernels == (sheet.machine.device.kernels != nullptr));
    for (const SourcedNumber& number : sheet.numbers) {
      INFO(number.key);
      CHECK_FALSE(number.value.empty());
      CHECK(number.source.size() >= 10);
    }
    for (std::size_t i = 1; i < sheet.machine.levels.size(); ++i) {
      CHECK(sheet.machine.levels[i].latency >= sheet.machine.levels[i - 1].latency);
    }
  }
}

TEST_CASE("ABCI is 1,088 nodes of four V100 behind a network over-subscribed 1:3 between racks") {
  const Machine abci = load_machine("abci");
  REQUIRE(abci.levels.size() == 4);
  int nodes = 1;
  for (std::size_t i = 1; i < abci.levels.size(); ++i) nodes *= abci.levels[i].units;
  CHECK(nodes == 1088);
  CHECK(abci.devices_per_node() == 4);
  // A leaf group has 17 nodes × 2 rails. A rack has twice as many, of which a third leads to the next level.
  CHECK(abci.levels[2].rails == Approx(34.0));
  CHECK(abci.levels[3].rails == Approx(68.0 / 3.0));
  // The latency is 2 × (20 + 0.11) + 0.09 us.
  CHECK(abci.levels[1].latency.value() == Approx(40.31e-6));
}

TEST_CASE("bundled machines have the devices, the memory and the links that their operators publish") {
  struct Published {
    std::string name;
    int devices, per_node;
    double link;  ///< bytes per second that leave a node over all its rails, before losses
    double attainable;
  };
  // The sources are: ALCF: 560 nodes, 2 x 200 Gb/s. NERSC: 1,536 nodes, 4 x 200 Gb/s. CSCS: 2,688
  // nodes, 4 x 200 Gb/s. OLCF: 4,608 nodes, 2 x 100 Gb/s. AWS: 4 x 100 and 32 x 100 Gb/s. Google: 8
  // x 200 Gb/s. Azure and DGX: 8 x 400 Gb/s. DGX-1: 4 x 100 Gb/s.
  for (const Published& published :
       {Published{"polaris", 2240, 4, 50e9, 0.73}, Published{"perlmutter", 6144, 4, 100e9, 0.925},
        Published{"alps", 10752, 4, 100e9, 0.925}, Published{"summit", 27648, 6, 25e9, 0.92},
        Published{"aws-p4d", 4000, 8, 50e9, 0.836}, Published{"aws-p5", 20000, 8, 400e9, 0.836},
        Published{"gcp-a3mega", 26000, 8, 200e9, 0.943}, Published{"azure-nd-h100", 14400, 8, 400e9, 0.97},
        Published{"dgx-h100", 16384, 8, 400e9, 0.97}, Published{"dgx-h200", 16384, 8, 400e9, 0.97},
        Published{"dgx-b200", 16384, 8, 400e9, 0.97}, Published{"dgx-1-v100", 5280, 8, 50e9, 0.94}}) {
    INFO(published.name);
    const Machine machine = load_machine(published.name);
    CHECK(machine.devices() == published.devices);
    CHECK(machine.devices_per_node() == published.per_node);
    CHECK(machine.levels[1].bandwidth.value() * machine.levels[1].rails == Approx(published.link * published.attainable));
  }
  for (const std::string name : {"workstation-rtx3090", "workstation-rtx4090", "workstation-l40s"}) {
    INFO(name);
    const Machine machine = load_machine(name);
    CHECK(machine.devices() == 8);
    CHECK(machine.levels.size() == 1);
    CHECK(machine.host.has_value());
    CHECK_FALSE(machine.storage.local_bandwidth.has_value());
  }
}

TEST_CASE("the memory of a bundled device is what its driver shows, not the data sheet's GB") {
  // The GB of data sheets are 2^30 bytes, less what the driver keeps.
  for (const std::string& name : machine_names()) {
    INFO(name);
    const double billions = load_machine(name).device.memory.value() / 1e9;
    CHECK(std::abs(billions - std::round(billions)) > 1e-6);
  }
}

TEST_CASE("a machine that extends another one does not inherit the price of another provider or another device") {
  for (const std::string& name : machine_names()) {
    INFO(name);
    const SourcedMachine sheet = load_sourced_machine(name, KernelTables::left_out);
    if (sheet.extends.empty()) continue;
    CHECK(sheet.machine.device.profile_names != std::vector<std::string>{});
    const auto files = machine_files();
    const auto file = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& each) { return each.name == name; });
    REQUIRE(file != files.end());
    // The price of dgx-h100 and dgx-a100 is that of these two instances.
    const bool has_price =
        file->content.find("\nprice: {") != std::string_view::npos || name == "aws-p4d" || name == "aws-p5";
    CHECK(sheet.machine.price_per_gpu_hour.has_value() == has_price);
  }
}

TEST_CASE(
    "the price of a node is the one that its citation states, and for Amazon that of the instance with the machine's name") {
  int checked = 0;
  for (const std::string& name : machine_names()) {
    const SourcedMachine sheet = load_sourced_machine(name, KernelTables::left_out);
    if (!sheet.machine.rents_nodes) continue;
    INFO(name);
    ++checked;
    const SourcedNumber& price = number_of(sheet, "price");
    CHECK(price.source.find(" " + price.value.substr(0, price.value.find(' ')) + " USD an hour") != std::string::npos);
    CHECK(sheet.machine.price_per_gpu_hour.value() * sheet.machine.devices_per_node() == Approx(std::stod(price.value)));
    if (!name.starts_with("aws-")) continue;
    const auto is_named = [&](const std::string& alias) {
      return alias.find('.') != std::string::npos && price.source.find(alias) != std::string::npos;
    };
    CHECK(std::any_of(sheet.aliases.begin(), sheet.aliases.end(), is_named));
  }
  CHECK(checked > 15);
}

TEST_CASE("a provider's prices of one device differ by at most a factor of 2.5 from instance to instance") {
  // Instances of one GPU have fewer cores and less memory for each GPU: g6.xlarge 0.80 USD an hour, g6.48xlarge 1.67 a GPU.
  std::map<std::string, std::pair<double, double>> prices;
  for (const std::string& name : machine_names()) {
    const SourcedMachine sheet = load_sourced_machine(name, KernelTables::left_out);
    if (!sheet.machine.price_per_gpu_hour || sheet.kind != MachineKind::cloud) continue;
    // The largest instances of one GPU have the host of an instance of four: g5.16xlarge 4.10 USD an hour.
    const auto& host_memory = sheet.machine.storage.host_memory;
    if (sheet.machine.devices_per_node() == 1 && host_memory && host_memory->value() > 1e11) continue;
    const double price = *sheet.machine.price_per_gpu_hour;
    const auto [known, is_new] =
        prices.emplace(name.substr(0, name.find('-')) + " " + sheet.machine.device.name, std::pair(price, price));
    known->second = {std::min(known->second.first, price), std::max(known->second.second, price)};
  }
  for (const auto& [of, range] : prices) {
    INFO(of);
    CHECK(range.second <= 2.5 * range.first);
  }
}

TEST_CASE("a price of a node is divided among its devices, and is not inherited by nodes of another size") {
  const Machine machine = parse_machine(edited(small_machine, "2.5 EUR/h", "10 EUR/node-h"), "m.yaml");
  CHECK(machine.rents_nodes);
  CHECK(machine.price_per_gpu_hour.value() == Approx(10.0 / machine.devices_per_node()));
  const std::string smaller =
      "format: 1\nmachine: half\nextends: aws-g5\ndescription: half of one\nsources: {own: guess}\nlevels:\n  - name: node\n"
      "    units: {value: 4, source: own}\n    latency: {value: 20 us, source: own}\n"
      "    bandwidth: {value: 32 GB/s, source: own}\n    rails: {value: 1, source: own}\n";
  CHECK_FALSE(parse_machine(smaller, "m.yaml").price_per_gpu_hour);
  CHECK(load_machine("g5.12xlarge").price_per_gpu_hour.value() == Approx(1.418));          // 5.672 USD an hour
  CHECK(load_machine("g6e.48xlarge").price_per_gpu_hour.value() == Approx(30.13118 / 8));  // 30.13118 USD an hour
}

TEST_CASE("each name of a machine stands for one machine") {
  std::map<std::string, std::string> machines;
  for (const MachineName& each : all_machine_names()) {
    INFO(each.name);
    const auto [known, is_new] = machines.emplace(name_key(each.name), each.file->name);
    CHECK((is_new || known->second == each.file->name));
  }
  std::size_t aliases = 0;
  for (const std::string& name : machine_names())
    aliases += load_sourced_machine(name, KernelTables::left_out).aliases.size();
  CHECK(all_machine_names().size() == machine_names().size() + aliases);
}

TEST_CASE("the names that people use lead to machines with these devices") {
  struct Named {
    std::string name, device;
  };
  for (const Named& named :
       {Named{"mi300x", "AMD Instinct MI300X"}, Named{"MI355X", "AMD Instinct MI355X"},
        Named{"mi250x", "AMD Instinct MI250X die"}, Named{"h20", "NVIDIA H20"}, Named{"h800", "NVIDIA H800 SXM5 80 GB"},
        Named{"RTX 5090", "NVIDIA GeForce RTX 5090"}, Named{"4090d", "NVIDIA GeForce RTX 4090 D"},
        Named{"gaudi3", "Intel Gaudi 3"}, Named{"v5p", "Google TPU v5p"}, Named{"trillium", "Google TPU v6e"},
        Named{"trn2.48xlarge", "AWS Trainium2"}, Named{"910B", "Huawei Ascend 910B"},
        Named{"p5en.48xlarge", "NVIDIA H200 SXM5 141 GB"}, Named{"Standard_ND96isr_MI300X_v5", "AMD Instinct MI300X"},
        Named{"BM.GPU.H100.8", "NVIDIA H100 SXM5 80 GB"}, Named{"a4-highgpu-8g", "NVIDIA B200 SXM 180 GB"},
        // A count, a plural, the shape of a slice, and the size of the memory before or after a device that has it.
        Named{"8xH100s", "NVIDIA H100 SXM5 80 GB"}, Named{"dual 4090", "NVIDIA GeForce RTX 4090"},
        Named{"tpu7x-4x8x8", "Google TPU7x"}, Named{"v5p-2x2x4", "Google TPU v5p"},
        Named{"8*80GB A100", "NVIDIA A100 SXM4 80 GB"}, Named{"40GB A100", "NVIDIA A100 SXM4 40 GB"},
        Named{"rtx 3090 24 GB", "NVIDIA GeForce RTX 3090"}, Named{"A100 80 GiB", "NVIDIA A100 SXM4 80 GB"},
        Named{"MI250X 128GB", "AMD Instinct MI250X die"}, Named{"MI250 64GB", "AMD Instinct MI250 die"},
        Named{"K80 24 GB", "NVIDIA K80, one GPU of two"}, Named{"K80 12GB", "NVIDIA K80, one GPU of two"},
        Named{"Max 1550 128 GB", "Intel Data Center GPU Max 1550 stack"}, Named{"L40S 48GB", "NVIDIA L40S"},
        Named{"2x 24G RTX 3090", "NVIDIA GeForce RTX 3090"}, Named{"4090 48G", "NVIDIA GeForce RTX 4090 48 GB"}}) {
    INFO(named.name);
    CHECK(load_sourced_machine(named.name, KernelTables::left_out).machine.device.name == named.device);
  }
}

TEST_CASE("each name that a driver prints of a device finds a machine") {
  int checked = 0;
  for (const std::string& name : machine_names()) {
    const SourcedMachine sheet = load_sourced_machine(name, KernelTables::left_out);
    for (const std::string& printed : sheet.machine.device.profile_names) {
      INFO(name << ": " << printed);
      CHECK(find_machine(printed) != nullptr);
      ++checked;
    }
  }
  CHECK(checked > 250);
}

TEST_CASE("a size of a cloud's instances that is not bundled is answered with the nearest sizes of its family") {
  CHECK(first_line(error_of([] { (void)load_machine("g5.32xlarge"); })) == "unknown machine 'g5.32xlarge'");
  CHECK(error_of([] { (void)load_machine("g5.32xlarge"); }).find("'g5.24xlarge', 'g5.48xlarge', 'g5.16xlarge'") !=
        std::string::npos);
  CHECK(error_of([] { (void)load_machine("A2-HighGPU-3g"); }).find("'a2-highgpu-2g', 'a2-highgpu-4g', 'a2-highgpu-1g'") !=
        std::string::npos);
  // A family with one size is no family.
  CHECK(error_of([] { (void)load_machine("dgx-a100-80"); }).find("did you mean 'dgx-a100'") != std::string::npos);
}

TEST_CASE("machines are found with any case and punctuation of their name") {
  CHECK(load_machine("ABCI").name == "abci");
  CHECK(load_machine("DGX H100").name == "dgx-h100");
}

TEST_CASE("fails with an unknown machine") {
  CHECK(error_of([] { (void)load_machine("dgx-a10"); }) ==
        "unknown machine 'dgx-a10'\nhint: did you mean 'dgx-a100'? A file of your own ends in '.yaml'");
  CHECK(error_of([] { (void)load_machine("mi308x"); }) ==
        "unknown machine 'mi308x'\nhint: did you mean 'mi300x', 'mi300a', 'mi325x' or 'mi350x'? For other GPUs, write "
        "a file with the figures of their datasheet: ddl-oracle machines new mi308x --peak bf16=312TFLOP/s --memory 80GiB "
        "--memory-bandwidth 2TB/s --links 300GB/s --per-node 8 --nodes 16 --network 200Gb/s -o mi308x.yaml");
  CHECK(error_of([] { (void)load_machine("our-h100-cluster"); }).find("did you mean 'h100'? For a cluster of its GPUs") !=
        std::string::npos);
  CHECK(error_of([] { (void)load_machine("A10G 48GB"); }).find("'aws-g5' has 22.1 GiB of memory") != std::string::npos);
  CHECK(error_of([] { (void)load_machine("48GB"); }).find("unknown machine '48GB'") == 0);
  const std::string unlike = error_of([] { (void)load_machine("$(x)"); });
  CHECK(unlike.find("ddl-oracle machines new NAME --peak bf16=") != std::string::npos);
}

TEST_CASE("fails with a missing file") {
  const std::string error = error_of([] { (void)load_machine("no/such/machine"); });
  CHECK(error.find("no/such/machine") != std::string::npos);
  CHECK(error_of([] { (void)load_machine("missing.yaml"); }).find("missing.yaml") != std::string::npos);
}

TEST_CASE("facts of a compute capability are those of the GPUs on which they were measured") {
  constexpr double mib = 1024.0 * 1024;
  // The sources are cited in calibration/devices/capabilities.yaml.
  CHECK(load_machine("abci").device.whole_context->value() == 1271 * mib);
  CHECK(load_machine("dgx-a100").device.whole_context->value() == 1573 * mib);
  CHECK(load_machine("aws-g5").device.joules_per_flop == 2.1e-12);
  CHECK(load_machine("aws-g6").device.joules_per_flop == 1.08e-12);
  CHECK_FALSE(load_machine("dgx-h100").device.whole_context);
  CHECK_FALSE(load_machine("dgx-h100").device.joules_per_flop);
  CHECK_FALSE(load_machine("cpu-cluster").device.whole_context);
  Device own;
  own.compute_capability = 8.6;
  own.joules_per_flop = 1e-12;
  add_capability_facts(own);
  CHECK(own.joules_per_flop == 1e-12);
  CHECK(own.whole_context->value() == 1486 * mib);
}

TEST_CASE("facts of a compute capability need sources and plausible numbers") {
  const std::string head = "format: 1\nsources: {x: measured by us}\ncapabilities:\n";
  const auto error = [&](const std::string& row) {
    return first_line(error_of([&] { (void)parse_capabilities(head + row, "c.yaml"); }));
  };
  CHECK(parse_capabilities(head + "  - {capability: 9.0}\n", "c.yaml").front().capability == 9);
  CHECK(error("  - {capability: 9.0, joules_per_flop: {value: 1, source: x}}\n") ==
        "c.yaml:4:48: '1' is too large: at most 1e-09");
  CHECK(error("  - {capability: 9.0, whole_context: {value: 0 B, source: x}}\n") ==
        "c.yaml:4:46: '0 B' must be greater than zero");
  CHECK(error("  - {capability: 9.0, whole_context: {value: 1 GiB, source: y}}\n") == "c.yaml:4:61: unknown source 'y'");
}

TEST_CASE("the compute capability of a GPU is read, and is known for all bundled machines") {
  CHECK_FALSE(parse_machine(small_machine, "m.yaml").device.compute_capability);
  const auto with = [](const std::string& value) {
    return edited(small_machine, "  tile:", "  compute_capability: {value: " + value + ", source: sheet}\n  tile:");
  };
  CHECK(parse_machine(with("9.0"), "m.yaml").device.compute_capability == 9.0);
  CHECK(load_machine("abci").device.compute_capability == 7.0);
  CHECK(load_machine("dgx-a100").device.compute_capability == 8.0);
  CHECK(load_machine("dgx-h100").device.compute_capability == 9.0);
  CHECK_FALSE(load_machine("cpu-cluster").device.compute_capability);
  CHECK(first_line(error_of([&] { (void)parse_machine(with("sm_90"), "m.yaml"); })) ==
        "m.yaml:12:31: 'sm_90' is not a number");
  CHECK(first_line(error_of([&] { (void)parse_machine(with("0"), "m.yaml"); })) ==
        "m.yaml:12:31: '0' is too small: at least 1");
  const std::string processor = edited(with("9.0"), "  peak:", "  kind: processor\n  peak:");
  CHECK(first_line(error_of([&] { (void)parse_machine(processor, "m.yaml"); })) ==
        "m.yaml:13:31: a processor has no compute capability");
}

TEST_CASE("a device is a GPU, an accelerator, a processor or a TPU") {
  CHECK(load_machine("tpu-v6e").device.is_tpu);
  CHECK_FALSE(load_machine("tpu-v6e").device.is_processor);
  CHECK_FALSE(load_machine("dgx-h100").device.is_tpu);
  for (const char* const name : {"atlas-800", "server-gaudi3", "aws-trn2"}) {
    INFO(name);
    CHECK(load_machine(name).device.is_accelerator);
  }
  CHECK_FALSE(load_machine("workstation-arc-a770").device.is_accelerator);
  const std::string other = edited(small_machine, "  peak:", "  kind: npu\n  peak:");
  CHECK(first_line(error_of([&] { (void)parse_machine(other, "m.yaml"); })).ends_with("unknown kind of device 'npu'"));
}

TEST_CASE("a machine file names the noun of its device, which machines with another device do not inherit") {
  CHECK(load_machine("atlas-800").device.noun == "NPU");
  CHECK(load_machine("tpu-v6e").device.noun.empty());
  const std::string other =
      "format: 1\nmachine: other\nextends: atlas-800\ndescription: another device\ndevice:\n  name: Maker M2\n";
  CHECK(parse_machine(other, "m.yaml").device.noun.empty());
}

// ---- invalid files ----

TEST_CASE("fails with a number without its source") {
  CHECK(error_with("{value: 64, source: guess}", "64") ==
        "m.yaml:12:9: expected a value with its source, found text\n"
        "    tile: 64\n"
        "          ^\n"
        "hint: write {value: ..., source: a key of 'sources:'}");
  CHECK(first_line(error_with("{value: 64, source: guess}", "{value: 64}")) == "m.yaml:12:9: the key 'source' is missing");
  CHECK(first_line(error_with("{value: 64, source: guess}", "{source: guess}")) ==
        "m.yaml:12:9: the key 'value' is missing");
  CHECK(first_line(error_with("{value: 64, source: guess}", "[64, guess]")) ==
        "m.yaml:12:9: expected a value with its source, found a list");
}

TEST_CASE("fails with a source that is not listed") {
  CHECK(error_with("{value: 64, source: guess}", "{value: 64, source: gues}") ==
        "m.yaml:12:29: unknown source 'gues'\n"
        "    tile: {value: 64, source: gues}\n"
        "                              ^\n"
        "hint: did you mean 'guess'?");
}

TEST_CASE("fails with a number without unit, of another unit, or negative") {
  CHECK(first_line(error_with("value: 900 GB/s", "value: 900")) == "m.yaml:11:29: '900' has no unit");
  CHECK(first_line(error_with("value: 900 GB/s", "value: 900 GB")) == "m.yaml:11:29: '900 GB' is a size, not a bandwidth");
  CHECK(first_line(error_with("value: 900 GB/s", "value: -900 GB/s")) == "m.yaml:11:29: '-900 GB/s' is negative");
  CHECK(first_line(error_with("value: 900 GB/s", "value: 0 GB/s")) == "m.yaml:11:29: '0 GB/s' must be greater than zero");
  CHECK(first_line(error_with("value: 2 us", "value: -2 us")) == "m.yaml:17:22: '-2 us' is negative");
  CHECK(error_with("value: 2 us", "value: 0 us") == "no error");
  CHECK(first_line(error_with("value: 3, ", "value: -3, ")) == "m.yaml:19:20: '-3' is too small: at least 0");
  CHECK(first_line(error_with("value: 3, ", "value: 0, ")) == "m.yaml:19:20: must be greater than zero");
  CHECK(first_line(error_with("{value: 0.8, source: guess}\nlevels", "{value: 1.2, source: guess}\nlevels")) ==
        "m.yaml:13:28: '1.2' is too large: at most 1");
  CHECK(first_line(error_with("{value: 0.8, source: guess}\nlevels", "{value: 0, source: guess}\nlevels")) ==
        "m.yaml:13:28: must be greater than zero");
}

TEST_CASE("fails with a unit count that is not a whole number, or is zero") {
  CHECK(first_line(error_with("units: {value: 4,", "units: {value: 4.5,")) == "m.yaml:16:20: '4.5' is not a whole number");
  CHECK(first_line(error_with("units: {value: 4,", "units: {value: 0,")) == "m.yaml:16:20: '0' is too small: at least 1");
  CHECK(first_line(error_with("units: {value: 4,", "units: {value: 2000000000,")) ==
        "m.yaml:15:5: more than 1000000000 devices");
}

TEST_CASE("fails with an unknown key anywhere") {
  CHECK(first_line(error_with("machine: toy", "machin: toy")) == "m.yaml:2:1: unknown key 'machin'");
  CHECK(first_line(error_with("  tile:", "  tiles:")) == "m.yaml:12:3: unknown key 'tiles'");
  CHECK(first_line(error_with("fp32:", "fp64:")) == "m.yaml:8:5: unknown key 'fp64'");
  CHECK(first_line(error_with("value: 64, source", "value: 64, unit: 1, source")) == "m.yaml:12:21: unknown key 'unit'");
  CHECK(first_line(error_with("shared_total", "shared_sum")) == "m.yaml:36:3: unknown key 'shared_sum'");
  CHECK(first_line(error_with("devices_per_link", "devices")) == "m.yaml:33:3: unknown key 'devices'");
  CHECK(first_line(error_with("    rails: {value: 2,", "    rail: {value: 2,")) == "m.yaml:25:5: unknown key 'rail'");
}

TEST_CASE("fails with a missing key") {
  CHECK(error_with("machine: toy\n", "").find("the key 'machine' is missing") != std::string::npos);
  CHECK(error_with("  name: T1\n", "").find("the key 'name' is missing") != std::string::npos);
  CHECK(error_with("sources: {sheet: the data sheet, guess: assumed}\n", "").find("the key 'sources' is missing") !=
        std::string::npos);
}

TEST_CASE("fails with a file of another format") {
  CHECK(error_with("format: 1", "format: 2") ==
        "m.yaml:1:9: format 2 needs a newer version of ddl-oracle: this version reads format 1\n  format: 2\n          ^");
}

TEST_CASE("fails with a device that computes nothing") {
  CHECK(first_line(
            error_with("peak:\n    fp32: {value: 10 TFLOP/s, source: sheet}\n    bf16: {value: 80 TFLOP/s, source: sheet}",
                       "peak: {}")) == "m.yaml:7:9: no precision has a peak");
}

TEST_CASE("fails with two levels of one name, or without levels") {
  CHECK(first_line(error_with("name: rack", "name: node")) == "m.yaml:20:11: two levels are named 'node'");
  const std::string none = small_machine.substr(0, small_machine.find("levels:")) + "levels: []\n";
  CHECK(first_line(error_of([&] { (void)parse_machine(none, "m.yaml"); })) ==
        "m.yaml:14:9: a machine needs at least one level");
}

TEST_CASE("fails with a level whose rails are given twice, or not at all") {
  CHECK(first_line(error_with("    oversubscription: {value: 2, source: sheet}\n", "")) ==
        "m.yaml:26:5: one of the keys 'rails' and 'oversubscription' is missing");
  CHECK(first_line(error_with("    oversubscription:", "    rails: {value: 1, source: sheet}\n    oversubscription:")) ==
        "m.yaml:26:5: 'rails' and 'oversubscription' exclude each other");
  CHECK(first_line(error_with("    rails: {value: 3,", "    oversubscription: {value: 3,")) ==
        "m.yaml:15:5: the key 'rails' is missing");
  CHECK(first_line(error_with("oversubscription: {value: 2,", "oversubscription: {value: 0.5,")) ==
        "m.yaml:30:31: '0.5' is too small: at least 1");
}

TEST_CASE("fails with an invalid price") {
  for (const std::string price :
       {"2.5", "2.5 USD", "2.5 usd/h", "2.5 USD/day", "USD/h", "-1 USD/h", "inf USD/h", "2.5 DOLLAR/h", "2.5 USD/nodes-h"}) {
    INFO(price);
    CHECK(
        error_with("2.5 EUR/h", price) ==
        "m.yaml:39:16: '" + price + "' is not a price per device and hour\n" + "  price: {value: " + price +
            ", source: sheet}\n                 ^\nhint: write the price as '2.5 USD/h', or for a node as '20 USD/node-h'");
  }
  CHECK(error_with("2.5 EUR/h", "0 USD/h") == "no error");
}

TEST_CASE("fails with a software that is not bundled") {
  const auto error_of_software = [](const std::string& software) {
    return error_of([&] { (void)parse_machine(small_machine + "software: " + software + "\n", "m.yaml"); });
  };
  CHECK(error_of_software("{value: jax, source: sheet}") == "no error");
  CHECK(error_of_software("{value: jxa, source: sheet}") ==
        "m.yaml:40:19: unknown software 'jxa'\n  software: {value: jxa, source: sheet}\n                    ^\n"
        "hint: did you mean 'jax'?");
  CHECK(error_of_software("{value: qqqqqqqqqq, source: sheet}").find("hint: ") != std::string::npos);
  CHECK(first_line(error_of_software("jax")) == "m.yaml:40:11: expected a value with its source, found text");
  for (const std::string value : {"[jax]", "''", "", "{a: b}"}) {
    INFO(value);
    CHECK(error_of_software("{value: " + value + ", source: sheet}").starts_with("m.yaml:40:"));
    CHECK(error_of_software(value).starts_with("m.yaml:40:"));
  }
}

TEST_CASE("fails with more levels than a group of ranks can span") {
  std::string levels;
  for (int i = 3; i < 9; ++i) {
    levels += "  - name: level" + std::to_string(i) +
              "\n    units: {value: 1, source: sheet}\n    latency: {value: 6 us, source: sheet}\n"
              "    bandwidth: {value: 20 GB/s, source: sheet}\n    rails: {value: 1, source: sheet}\n";
    if (i == 7) CHECK(error_with("host:", levels + "host:") == "no error");
  }
  CHECK(first_line(error_with("host:", levels + "host:")) == "m.yaml:56:5: more than 8 levels");
}

}  // namespace machine_reader_tests
