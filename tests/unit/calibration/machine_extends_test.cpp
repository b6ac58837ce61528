#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/study.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/calibration/error_texts.hpp"

namespace machine_extends_tests {

using namespace ddl;

namespace {

/// A folder for machine files that extend each other, removed at the end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "ddl-machine-extends-test") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  /// Returns an error without the path of the folder.
  [[nodiscard]] std::string shortened(std::string error) const {
    const std::string prefix = path_.string() + "/";
    for (std::size_t at = 0; (at = error.find(prefix, at)) != std::string::npos;) error.erase(at, prefix.size());
    return error;
  }

 private:
  std::filesystem::path path_;
};

const std::string head = "format: 1\nmachine: toy\nextends: dgx-a100\n";

Machine extended(const std::string& rest) { return parse_machine(head + rest, "m.yaml"); }
std::string error_with(const std::string& rest) {
  return error_of([&] { (void)extended(rest); });
}

std::string source_of(const SourcedMachine& sheet, const std::string& key) {
  const auto found = std::find_if(sheet.numbers.begin(), sheet.numbers.end(), [&](const auto& n) { return n.key == key; });
  INFO(key);
  REQUIRE(found != sheet.numbers.end());
  return found->source;
}

const std::string one_level = R"(levels:
  - name: box
    units: {value: 4, source: mine}
    latency: {value: 2 us, source: mine}
    bandwidth: {value: 50 GB/s, source: mine}
    rails: {value: 3, source: mine}
)";
const std::string mine = "sources: {mine: a sheet of my own}\n";

}  // namespace

TEST_CASE("a machine without keys of its own equals the one that it extends, but for its name and its cores") {
  const Machine base = load_machine("dgx-a100");
  const SourcedMachine sheet = parse_sourced_machine(head, "m.yaml");
  CHECK(sheet.extends == "dgx-a100");
  CHECK(load_sourced_machine("dgx-a100").extends.empty());
  CHECK(sheet.machine.name == "toy");
  CHECK(sheet.machine.description == base.description);
  CHECK(sheet.machine.devices() == base.devices());
  CHECK(sheet.machine.device.memory == base.device.memory);
  CHECK(sheet.machine.price_per_gpu_hour == base.price_per_gpu_hour);
  CHECK(sheet.numbers.size() + 1 == load_sourced_machine("dgx-a100").numbers.size());
  CHECK(base.host->cores_per_device == 16);
  CHECK(sheet.machine.host->bandwidth == base.host->bandwidth);
  CHECK_FALSE(sheet.machine.host->cores_per_device);
}

TEST_CASE("a machine states its own processor cores") {
  const Machine machine = extended(mine + "host:\n  cores_per_device: {value: 12, source: mine}\n");
  CHECK(machine.host->cores_per_device == 12);
}

TEST_CASE("keys of device, host and storage are merged one by one") {
  const Machine base = load_machine("dgx-a100");
  const Machine machine = extended(mine +
                                   "device:\n  memory: {value: 40 GB, source: mine}\n"
                                   "host:\n  devices_per_link: {value: 1, source: mine}\n"
                                   "storage:\n  shared_total: {value: 650 GB/s, source: mine}\n");
  CHECK(machine.device.memory == Bytes(40e9));
  CHECK(machine.device.name == base.device.name);
  CHECK(machine.device.profile_names == base.device.profile_names);
  CHECK(machine.device.attainable_peak == base.device.attainable_peak);
  REQUIRE(machine.host);
  CHECK(machine.host->devices_per_link == 1);
  CHECK(machine.host->bandwidth == base.host->bandwidth);
  CHECK(machine.storage.shared_total == Bandwidth(650e9));
  CHECK(machine.storage.local_capacity == base.storage.local_capacity);
}

TEST_CASE("peaks are replaced as a whole, and another device does not inherit profile names") {
  const Machine machine = extended(mine + "device:\n  name: Other\n  peak:\n    fp32: {value: 10 TFLOP/s, source: mine}\n");
  CHECK(machine.device.peak_at(Precision::fp32) == FlopRate(10e12));
  CHECK_FALSE(machine.device.peak_at(Precision::bf16));
  CHECK(machine.device.profile_names.empty());
}

TEST_CASE("levels are replaced as a whole, together with the topology") {
  CHECK(extended(mine + one_level).levels.size() == 1);
  const Folder folder;
  static_cast<void>(folder.write("torus.yaml", head + mine + one_level +
                                                   R"(  - name: torus
    units: {value: 4, source: mine}
    latency: {value: 2 us, source: mine}
    bandwidth: {value: 50 GB/s, source: mine}
    rails: {value: 3, source: mine}
topology:
  kind: {value: torus, source: mine}
  extents: {value: [2, 2], source: mine}
  link_bandwidth: {value: 25 GB/s, source: mine}
)"));
  const std::string same = folder.write("same.yaml", "format: 1\nmachine: same\nextends: ./torus.yaml\n");
  const std::string other = folder.write("other.yaml", "format: 1\nmachine: other\nextends: torus.yaml\n" + one_level);
  const std::string tree = folder.write("tree.yaml", "format: 1\nmachine: tree\nextends: torus.yaml\ntopology: none\n");
  CHECK(load_machine(same).shape.kind == NetworkShape::Kind::torus);
  CHECK(load_machine(same).network != nullptr);
  CHECK(load_machine(other).shape.kind == NetworkShape::Kind::fat_tree);
  CHECK(load_machine(tree).shape.kind == NetworkShape::Kind::fat_tree);
  CHECK(load_machine(tree).levels.size() == 2);
}

TEST_CASE("'none' removes a part of the extended machine") {
  const Machine machine = extended("host: none\nstorage: none\nprice: none\n");
  CHECK_FALSE(machine.host);
  CHECK_FALSE(machine.storage.local_bandwidth);
  CHECK_FALSE(machine.price_per_gpu_hour);
  const Machine diskless = extended("storage:\n  local_bandwidth: none\ndevice:\n  launch_overhead: none\n");
  CHECK_FALSE(diskless.storage.local_bandwidth);
  CHECK(diskless.storage.local_capacity);
  CHECK_FALSE(diskless.device.launch_overhead);
  CHECK(first_line(error_with("device:\n  memory: none\n")) == "m.yaml:5:11: expected a value with its source, found text");
  CHECK(first_line(error_with("device: none\n")) == "m.yaml:4:9: expected a map, found text");
}

TEST_CASE("sources of both files can be used, and each number keeps the citation of its own file") {
  const SourcedMachine sheet =
      parse_sourced_machine(head +
                                "sources: {pcie: my own slots}\nhost:\n  devices_per_link: {value: 1, source: pcie}\n"
                                "device:\n  memory: {value: 40 GB, source: a100}\n",
                            "m.yaml");
  CHECK(source_of(sheet, "host.devices_per_link") == "my own slots");
  CHECK(source_of(sheet, "host.bandwidth") == "PCIe Gen4 x16");
  CHECK(source_of(sheet, "device.memory") == source_of(sheet, "device.memory_bandwidth"));
  CHECK(error_with("device:\n  memory: {value: 40 GB, source: a10}\n") ==
        "m.yaml:5:34: unknown source 'a10'\n"
        "    memory: {value: 40 GB, source: a10}\n"
        "                                   ^\n"
        "hint: did you mean 'a100'?");
}

TEST_CASE("a path is relative to the extending file, and files may extend each other in a chain") {
  const Folder folder;
  const std::string a = folder.write("a.yaml", "format: 1\nmachine: a\nextends: sub/b.yaml\n");
  (void)folder.write("sub/b.yaml", "format: 1\nmachine: b\nextends: ../c.yaml\nprice: none\n");
  (void)folder.write("c.yaml", "format: 1\nmachine: c\nextends: DGX H100\ndescription: the third\n");
  const SourcedMachine sheet = load_sourced_machine(a);
  CHECK(sheet.extends == "b");
  CHECK(sheet.machine.description == "the third");
  CHECK(sheet.machine.device.name == load_machine("dgx-h100").device.name);
  CHECK_FALSE(sheet.machine.price_per_gpu_hour);
}

TEST_CASE("fails with a missing extended machine") {
  const std::string error = error_of([] { (void)parse_machine("format: 1\nmachine: toy\nextends: dgx-a10\n", "m.yaml"); });
  CHECK(error ==
        "m.yaml:3:10: unknown machine 'dgx-a10'\n"
        "  extends: dgx-a10\n"
        "           ^\n"
        "hint: did you mean 'dgx-a100'? A file of your own ends in '.yaml'");
  const std::string missing =
      error_of([] { (void)parse_machine("format: 1\nmachine: toy\nextends: no/such.yaml\n", "m.yaml"); });
  CHECK(first_line(missing).find("m.yaml:3:10: ") == 0);
  CHECK(missing.find("no/such.yaml") != std::string::npos);
}

TEST_CASE("fails with machines that extend each other in a circle") {
  const Folder folder;
  const auto file = [&](const std::string& name, const std::string& base) {
    return folder.write(name + ".yaml", "format: 1\nmachine: " + name + "\nextends: " + base + ".yaml\n");
  };
  const auto error = [&](const std::string& path) { return folder.shortened(error_of([&] { (void)load_machine(path); })); };
  CHECK(error(file("self", "./self")) ==
        "self.yaml:3:10: a machine cannot extend itself\n"
        "  extends: ./self.yaml\n"
        "           ^\n"
        "hint: name another machine");
  (void)file("b", "c");
  (void)file("c", "../ddl-machine-extends-test/a");
  CHECK(first_line(error(file("a", "b"))) ==
        "c.yaml:3:10: the machines extend each other in a circle: a.yaml extends b.yaml extends c.yaml extends a.yaml");
}

TEST_CASE("fails with a long chain of machines that extend each other") {
  const Folder folder;
  std::string base = "dgx-a100", path;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "m" + std::to_string(i);
    path = folder.write(name + ".yaml", "format: 1\nmachine: " + name + "\nextends: " + base + "\n");
    base = name + ".yaml";
    if (i == 6) CHECK(load_machine(path).name == "m6");
  }
  CHECK(folder.shortened(first_line(error_of([&] { (void)load_machine(path); }))) ==
        "m0.yaml:3:10: more than 7 machines that extend each other");
}

TEST_CASE("errors in the extended file state the position in that file, even for a replaced key") {
  const Folder folder;
  (void)folder.write("base.yaml", head + mine + one_level + "host: {speed: 1}\n");
  const std::string path = folder.write("m.yaml", "format: 1\nmachine: m\nextends: base.yaml\nhost: none\n");
  CHECK(folder.shortened(first_line(error_of([&] { (void)load_machine(path); }))) == "base.yaml:11:8: unknown key 'speed'");
  CHECK(first_line(error_with("hots: none\n")) == "m.yaml:4:1: unknown key 'hots'");
}

TEST_CASE("a machine inherits its software, unless the file has another or 'none'") {
  const Folder folder;
  const auto software_with = [&](const std::string& rest) {
    const std::string text = "format: 1\nmachine: m\nextends: tpu-v4\nsources: {log: a log}\n" + rest;
    return load_machine(folder.write("m.yaml", text)).software;
  };
  CHECK(software_with("") == "jax");
  CHECK(software_with("software: {value: fsdp, source: log}\n") == "fsdp");
  CHECK(software_with("software: none\n").empty());
}

TEST_CASE("the software of a machine is not the default of sequence models if it is for images only") {
  const Folder folder;
  StudySpec spec;
  spec.machine = folder.write("m.yaml",
                              "format: 1\nmachine: m\nextends: dgx-a100\nsources: {log: a log}\n"
                              "software: {value: chainer, source: log}\n");
  const Machine machine = load_machine(spec.machine);
  CHECK(software_of(spec, machine, {}, false).name == "chainer");
  CHECK(software_of(spec, machine, {}, true).name == usual_software);
}

TEST_CASE("a machine that extends none must be complete") {
  CHECK(error_of([] { (void)parse_machine("format: 1\nmachine: toy\n", "m.yaml"); }).find("the key 'sources' is missing") !=
        std::string::npos);
}

}  // namespace machine_extends_tests
