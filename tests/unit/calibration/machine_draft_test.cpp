#include "calibration/inputs/machine_draft.hpp"

#include <string>

#include "calibration/inputs/machine_reader.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace machine_draft_tests {

using namespace ddl;

namespace {

DraftRequest request_like(const std::string& name) {
  DraftRequest request;
  request.name = "lab";
  request.extends = name;
  request.like = load_sourced_machine(name);
  return request;
}

Machine drafted(const DraftRequest& request) {
  const MachineDraft draft = draft_machine(request);
  INFO(draft.text);
  return parse_machine(draft.text, "lab.yaml");
}

Machine with_nodes(const std::string& like, int nodes) {
  DraftRequest request = request_like(like);
  request.nodes = nodes;
  return drafted(request);
}

bool has(const MachineDraft& draft, const std::string& part) { return draft.text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a draft without detected hardware equals the base machine") {
  const MachineDraft draft = draft_machine(request_like("dgx-h100"));
  const Machine machine = parse_machine(draft.text, "lab.yaml");
  CHECK(machine.name == "lab");
  CHECK(machine.devices() == load_machine("dgx-h100").devices());
  CHECK_FALSE(has(draft, "\nlevels:"));
  CHECK(has(draft, "# GPUs: not detected, taken from dgx-h100: 8 x NVIDIA H100 SXM5 80 GB a node.\n"));
  CHECK(has(draft, "# Network: not detected, taken from dgx-h100.\n"));
}

TEST_CASE("a draft has as many levels as its nodes need") {
  CHECK(with_nodes("dgx-h100", 1).levels.size() == 1);
  const Machine two = with_nodes("dgx-h100", 2);
  CHECK(two.levels.size() == 2);
  CHECK(two.devices() == 16);
  CHECK(two.levels[1].bandwidth == load_machine("dgx-h100").levels[1].bandwidth);
  const Machine units = with_nodes("dgx-h100", 96);
  CHECK(units.levels.size() == 3);
  CHECK(units.levels[2].units == 3);
  // 33 is not a multiple of the 32 nodes of a scalable unit.
  const Machine flat = with_nodes("dgx-h100", 33);
  CHECK(flat.levels.size() == 2);
  CHECK(flat.devices() == 264);
  CHECK(with_nodes("abci", 17 * 2 * 5).levels.size() == 4);
  CHECK(with_nodes("polaris", 10'000).devices() == 40'000);
  CHECK(with_nodes("dgx-h100", 100'000).devices() == 800'000);
}

TEST_CASE("equal GPUs keep their numbers, with the host's count") {
  DraftRequest request = request_like("dgx-h100");
  request.nodes = 4;
  request.host.gpus = DetectedGpus{"NVIDIA H100 80GB HBM3", 4, 81559};
  const Machine machine = drafted(request);
  CHECK(machine.devices_per_node() == 4);
  CHECK(machine.devices() == 16);
  CHECK(machine.device.memory == load_machine("dgx-h100").device.memory);
  CHECK(has(draft_machine(request),
            "  detected-gpus: \"detected: nvidia-smi lists 4 x NVIDIA H100 80GB HBM3 of 81559 MiB\"\n"));
}

TEST_CASE("xpu-smi lists cards, of which a machine counts the stacks") {
  DraftRequest request = request_like("aurora");
  request.host.gpus = DetectedGpus{"Intel(R) Data Center GPU Max 1550", 6, {}, {}, "Intel", "xpu-smi"};
  CHECK(drafted(request).devices_per_node() == 12);
}

TEST_CASE("another GPU has its own name and memory, and a comment names the GPU of its peaks") {
  DraftRequest request = request_like("dgx-h100");
  request.host.gpus = DetectedGpus{"NVIDIA A100-SXM4-80GB", 8, 81920};
  const Machine machine = drafted(request);
  CHECK(machine.device.name == "NVIDIA A100-SXM4-80GB");
  CHECK(machine.device.profile_names == std::vector<std::string>{"NVIDIA A100-SXM4-80GB"});
  CHECK(machine.device.memory == Bytes(81920.0 * 1024 * 1024));
  const MachineDraft draft = draft_machine(request);
  CHECK(has(draft, "# GPUs: dgx-a100 describes this GPU: write this file again with --like dgx-a100.\n"));
  CHECK(has(draft,
            "# Device: peaks and bandwidth are copied from NVIDIA H100 SXM5 80 GB: replace them by the datasheet's.\n"));
}

TEST_CASE("a GPU under another name keeps its numbers, and another memory is its own") {
  DraftRequest request = request_like("alps");
  request.host.gpus = DetectedGpus{.name = "NVIDIA GH200 480GB", .count = 4, .memory_mib = 97871, .maker = "NVIDIA"};
  CHECK(has(draft_machine(request), "as in alps. The numbers of alps are kept"));
  request.host.gpus = DetectedGpus{.name = "NVIDIA GH200 144G HBM3e", .count = 4, .memory_mib = 146831, .maker = "NVIDIA"};
  CHECK(has(draft_machine(request), "of alps with another size of memory"));
  CHECK(drafted(request).device.memory.value() == Approx(146831 * 0x1p20));
  CHECK(drafted(request).device.peak_at(Precision::bf16) == load_machine("alps").device.peak_at(Precision::bf16));
  request.host.gpus = DetectedGpus{.name = "Tesla V100-PCIE-24GB", .count = 2, .memory_mib = 24240, .maker = "NVIDIA"};
  CHECK(has(draft_machine(request), " describes this GPU with another size of memory"));
  request.host.gpus = DetectedGpus{.name = "NVIDIA A10G", .count = 8, .memory_mib = 23028, .maker = "NVIDIA"};
  CHECK(has(draft_machine(request), "# GPUs: aws-g5 describes this GPU: write this file again with --like aws-g5.\n"));
  request.host.gpus = DetectedGpus{.name = "NVIDIA A16", .count = 8, .memory_mib = 15356, .maker = "NVIDIA"};
  CHECK(has(draft_machine(request), "no bundled machine has this GPU"));
}

TEST_CASE("a draft says whether the price that it takes is that of a device or of a node") {
  CHECK(has(draft_machine(request_like("aws-g5")), "# The price comes from aws-g5: 16.288 USD/h per node"));
  CHECK(has(draft_machine(request_like("dgx-h100")), "# The price comes from dgx-h100: 6.88 USD/h per device"));
}

TEST_CASE("an NVLink domain of several hosts stays one") {
  DraftRequest request = request_like("gb200-nvl72");
  request.host.gpus = DetectedGpus{.name = "NVIDIA GB200", .count = 4, .memory_mib = 189471, .maker = "NVIDIA"};
  request.host.ports = DetectedPorts{4, 400, "/sys/class/infiniband, 400 Gb/sec (4X NDR)"};
  const auto with = [&](int hosts) {
    request.nodes = hosts;
    return drafted(request);
  };
  // 18 hosts of four GPUs are a rack.
  const Machine rack = with(18);
  CHECK(rack.levels.size() == 1);
  CHECK(rack.devices() == 72);
  CHECK(rack.levels[0].rails == 18);
  const Machine racks = with(36);
  REQUIRE(racks.levels.size() == 2);
  CHECK(racks.levels[0].units == 72);
  CHECK(racks.levels[1].units == 2);
  CHECK(racks.levels[1].rails == 72);
  CHECK(with(2).devices_per_node() == 8);
  // 20 hosts are not whole racks: their domains have 10 hosts.
  CHECK(with(20).levels[0].units == 40);
  CHECK(with(20).devices() == 80);
  CHECK(has(draft_machine(request), "NVLink domain: 40 GPUs of 10 hosts, as in gb200-nvl72"));
}

TEST_CASE("links inside a node are detected, or said not to be") {
  DraftRequest request = request_like("workstation-rtx3090");
  request.host.gpus = DetectedGpus{.name = "NVIDIA GeForce RTX 3090", .count = 2, .memory_mib = 24576, .maker = "NVIDIA"};
  CHECK(has(draft_machine(request), "Links inside the node: not detected, taken from workstation-rtx3090"));
  request.host.links = DetectedLinks{.kind = DetectedLinks::Kind::all, .links = 4, .link_gb = 14.062};
  const Machine bridged = drafted(request);
  CHECK(bridged.levels[0].rails == 4);
  CHECK(bridged.levels[0].bandwidth.value() == Approx(14.062e9 * 0.8));
  request.host.links->link_gb.reset();
  CHECK(has(draft_machine(request), "but not their rate"));
  CHECK(drafted(request).levels[0].rails == 1);
  request.host.links = DetectedLinks{.kind = DetectedLinks::Kind::none, .path = "PHB"};
  CHECK(has(draft_machine(request), "shows no NVLink, and PHB as the longest path, as in workstation-rtx3090"));
  DraftRequest other = request_like("dgx-a100");
  other.host = request.host;
  CHECK(has(draft_machine(other), "The 12 links of dgx-a100 do not apply"));
  other.host.gpus.reset();
  CHECK(has(draft_machine(other), "Links inside the node: taken from dgx-a100. Those of nvidia-smi topo -m are not used"));
}

TEST_CASE("detected ports are the rails of a node") {
  DraftRequest request = request_like("dgx-h100");
  request.host.ports = DetectedPorts{4, 200, "/sys/class/infiniband, 200 Gb/sec (4X HDR)"};
  const Machine machine = drafted(request);
  CHECK(machine.levels[1].rails == 4);
  // 200 Gb/s are 25 GB/s. Messages get the same fraction of this bandwidth as on the other machine.
  CHECK(machine.levels[1].bandwidth.value() == Approx(25e9 * 0.97));
  CHECK(machine.levels[2].bandwidth.value() == Approx(25e9 * 0.97));
  CHECK(machine.levels[2].rails == Approx(32 * 4));
  CHECK(machine.levels[0].bandwidth == load_machine("dgx-h100").levels[0].bandwidth);
}

TEST_CASE("a machine without a network stays one, and a processor machine has the host's processors") {
  DraftRequest workstation = request_like("workstation-rtx4090");
  workstation.host.gpus = DetectedGpus{"NVIDIA GeForce RTX 4090", 2, 24564};
  workstation.host.ports = DetectedPorts{1, 10, "/sys/class/net, 10000 Mb/s"};
  CHECK(drafted(workstation).devices() == 2);
  DraftRequest cluster = request_like("cpu-cluster");
  cluster.nodes = 3;
  cluster.host.processor = DetectedProcessor{"AMD EPYC 7763 64-Core Processor", 2, "/proc/cpuinfo"};
  const Machine processors = drafted(cluster);
  CHECK(processors.device.name == "AMD EPYC 7763 64-Core Processor");
  CHECK(processors.device.is_processor);
  CHECK(processors.devices() == 6);
}

TEST_CASE("the number of nodes is Slurm's unless it is given") {
  DraftRequest request = request_like("dgx-a100");
  request.host.nodes = DetectedNodes{12, true};
  CHECK(drafted(request).devices() == 96);
  request.nodes = 2;
  CHECK(drafted(request).devices() == 16);
}

TEST_CASE("a draft based on a draft keeps the citations of both") {
  DraftRequest first = request_like("dgx-h100");
  first.nodes = 64;
  first.host.ports = DetectedPorts{4, 200, "/sys/class/infiniband, 200 Gb/sec (4X HDR)"};
  DraftRequest second;
  second.name = "second";
  second.extends = "dgx-h100";
  second.like = parse_sourced_machine(draft_machine(first).text, "lab.yaml");
  second.nodes = 32;
  const SourcedMachine sheet = parse_sourced_machine(draft_machine(second).text, "second.yaml");
  CHECK(sheet.machine.devices() == 256);
  CHECK(sheet.machine.levels[1].rails == 4);
}

TEST_CASE("texts from the host cannot break the file") {
  DraftRequest request = request_like("dgx-h100");
  request.name = "my: lab # 1";
  request.host.gpus = DetectedGpus{"a \"b\": \\ \n levels: {", 1, 1000};
  request.host.processor = DetectedProcessor{"x\ny: z", 1, "lscpu"};
  const Machine machine = drafted(request);
  CHECK(machine.name == "my: lab # 1");
  CHECK(machine.device.name == "a \"b\": \\   levels: {");
}

TEST_CASE("nodes cannot be added to a machine without a network") {
  CHECK(with_nodes("workstation-l40s", 1).levels.size() == 1);
  CHECK(error_of([] { with_nodes("workstation-l40s", 4); }).find("it has no level that connects 4 nodes") !=
        std::string::npos);
  DraftRequest request = request_like("workstation-l40s");
  request.host.nodes = DetectedNodes{12, true};
  CHECK(drafted(request).levels.size() == 1);
  CHECK(has(draft_machine(request), "# Nodes: scontrol lists 12 with GPUs. workstation-l40s describes a single node"));
}

TEST_CASE("a draft of every bundled machine with any host hardware is valid") {
  for (const std::string& name : machine_names()) {
    const std::size_t levels = load_machine(name).levels.size();
    for (const int nodes : {1, 7, 1000}) {
      for (const int gpus : {0, 6}) {
        DraftRequest request = request_like(name);
        request.host.nodes = DetectedNodes{nodes, true};
        request.host.ports = DetectedPorts{2, 400, "/sys/class/infiniband"};
        if (gpus > 0) request.host.gpus = DetectedGpus{"NVIDIA H100 80GB HBM3", gpus, 81559};
        INFO(name << " with " << nodes << " nodes of " << gpus << " GPUs");
        const Machine machine = drafted(request);
        CHECK(machine.devices() == machine.devices_per_node() * (levels < 2 ? 1 : nodes));
      }
    }
  }
}

}  // namespace machine_draft_tests
