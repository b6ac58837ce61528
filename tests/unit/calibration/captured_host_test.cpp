// Tests saved outputs of tools, in the forms that nvidia-smi 535 to 610, rocm-smi 5 to 7, amd-smi 26, hl-smi 1.1x,
// xpu-smi 1.2 and 2.1, npu-smi 22 to 26, lscpu 2.3x, ibstat, ibv_devinfo and scontrol print, with other values.

#include "calibration/inputs/captured_host.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace captured_host_tests {

using namespace ddl;

namespace {

std::string smi_row(int number, const std::string& name) {
  return "|   " + std::to_string(number) + "  " + name + "     On  |   00000000:0" + std::to_string(number + 1) +
         ":00.0 Off |                    0 |\n"
         "| N/A   32C    P0             69W /  700W |     437MiB /  81559MiB |    100%      Default |\n"
         "|                                         |                        |             Disabled |\n";
}

}  // namespace

TEST_CASE("GPUs are listed by the table of nvidia-smi") {
  const std::string head =
      "$ nvidia-smi\n| NVIDIA-SMI 550.90.12              Driver Version: 550.90.12      CUDA Version: 12.4     |\n"
      "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n";
  const std::string processes = "|    0   N/A  N/A     12345      C   python                            430MiB |\n";
  const std::string host = head + smi_row(0, "NVIDIA H100 80GB HBM3") + smi_row(1, "NVIDIA H100 80GB HBM3") + processes;
  const HostFacts facts = facts_in_outputs(host);
  REQUIRE(facts.gpus);
  CHECK(facts.gpus->name == "NVIDIA H100 80GB HBM3");
  CHECK(facts.gpus->count == 2);
  CHECK(facts.gpus->memory_mib == 81559);
  CHECK(facts.gpus->maker == "NVIDIA");
  CHECK(facts.gpus->tool == "nvidia-smi");
  CHECK_FALSE(facts.links);
  // The outputs of two hosts list the GPUs of each.
  CHECK(facts_in_outputs(host + host).gpus->count == 2);
  CHECK(facts_in_outputs(head + smi_row(0, "Tesla V100-SXM2...")).gpus->name == "Tesla V100-SXM2");
  // A shortened name may lack a word, which another output shows.
  const std::string shortened = head + smi_row(0, "NVIDIA GeForce RTX 2080 ...");
  CHECK(facts_in_outputs(shortened).gpus->name == "NVIDIA GeForce RTX 2080 ...");
  const HostFacts whole = facts_in_outputs(shortened + "GPU 0: NVIDIA GeForce RTX 2080 SUPER (UUID: GPU-1)\n");
  CHECK(whole.gpus->name == "NVIDIA GeForce RTX 2080 SUPER");
  CHECK(whole.gpus->memory_mib == 81559);
}

TEST_CASE("GPUs are listed by other outputs of nvidia-smi") {
  CHECK(facts_in_outputs(
            "GPU 0: NVIDIA L4 (UUID: GPU-1)\n  MIG 1g.5gb Device 0: (UUID: MIG-2)\nGPU 1: NVIDIA L4 (UUID: GPU-3)\n")
            .gpus->count == 2);
  const HostFacts query = facts_in_outputs(
      "Attached GPUs                             : 1\nGPU 00000000:19:00.0\n    Product Name                          : "
      "NVIDIA L40S\n"
      "    BAR1 Memory Usage\n        Total                             : 65536 MiB\n    FB Memory Usage\n        Total     "
      "     "
      "                   : 46068 MiB\n");
  CHECK(query.gpus->name == "NVIDIA L40S");
  CHECK(query.gpus->memory_mib == 46068);
  const HostFacts csv =
      facts_in_outputs("index, name, memory.total [MiB]\n0, NVIDIA A40, 46068 MiB\n1, NVIDIA A40, 46068 MiB\n");
  CHECK(csv.gpus->name == "NVIDIA A40");
  CHECK(csv.gpus->count == 2);
  CHECK(csv.gpus->memory_mib == 46068);
}

TEST_CASE("GPUs of other makers are listed by their own tools") {
  const auto gpus = [](const std::string& text) { return facts_in_outputs(text).gpus.value(); };
  const DetectedGpus series = gpus(
      "GPU[0]      : Card series:      AMD INSTINCT MI250 (MCM) OAM AC MBA\nGPU[0]      : Card model:       0x0b0c\n"
      "GPU[1]      : Card series:      AMD INSTINCT MI250 (MCM) OAM AC MBA\n");
  CHECK(series.count == 2);
  CHECK(series.maker == "AMD");
  CHECK(is_same_gpu(series.name, "AMD Instinct MI250"));
  const DetectedGpus named = gpus(
      "Device  [Model : Revision]    Temp        Power\n        Name (20 chars)       (Junction)  (Socket)\n"
      "0       [0x74a1 : 0x00]       45.0 C      173.0W\n        AMD Instinct MI300X\n"
      "1       [0x74a1 : 0x00]       41.0 C      179.0W\n        AMD Instinct MI300X\n");
  CHECK(named.name == "AMD Instinct MI300X");
  CHECK(named.count == 2);
  CHECK(named.tool == "rocm-smi");
  CHECK(
      gpus("0       4     0x74a0,   50375  48.0 C      110.0W\n1       5     0x74a0,   20890  53.0 C      113.0W\n").name ==
      "AMD Instinct MI300A");
  const DetectedGpus table = gpus(
      "| AMD-SMI 26.0.0+37d158ab      amdgpu version: 6.14.14  ROCm version: 7.0.0     |\n"
      "| 0000:0c:00.0    AMD Instinct MI300X | 0 %      38 C   0           132/750 W |\n"
      "|   0       0       0        SPX/NPS1 | 0 %        N/A             283/196592 MB |\n");
  CHECK(table.name == "AMD Instinct MI300X");
  CHECK(table.memory_mib == 196592);
  CHECK(table.tool == "amd-smi");
  const DetectedGpus gaudi = gpus(
      "| HL-SMI Version:                              hl-1.18.0-fw-53.1.1.1          |\n"
      "|   0  HL-225              N/A  | 0000:33:00.0     N/A |                   0 |\n"
      "| N/A   23C   N/A    94W / 600W |    768MiB / 98304MiB |     0%           N/A |\n");
  CHECK(gaudi.name == "HL-225");
  CHECK(gaudi.maker == "Habana");
  CHECK(gaudi.memory_mib == 98304);
  CHECK(gaudi.tool == "hl-smi");
  const DetectedGpus intel = gpus(
      "| 0         | Device Name: Intel(R) Data Center GPU Max 1550          |\n"
      "|           | Vendor Name: Intel(R) Corporation                       |\n");
  CHECK(intel.name == "Intel(R) Data Center GPU Max 1550");
  CHECK(intel.maker == "Intel");
}

TEST_CASE("NPUs are counted by modules, and a module has the memory of its chips") {
  const std::string head =
      "| npu-smi 25.3.rc1                 Version: 25.3.rc1                              |\n"
      "| NPU   Name                | Health        | Power(W)    Temp(C)   Hugepages-Usage(page)|\n"
      "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB) |\n";
  const auto chip = [](const std::string& module, const std::string& number, const std::string& name) {
    return "| " + module + "     " + name + "   | OK            | 90.4        32                0    / 0             |\n| " +
           number + "                         | 0000:C1:00.0  | 0           0    / 0          41697/ 65536         |\n";
  };
  const std::string processes =
      "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |\n"
      "| 0       0                 | 4242          | python                   | 100                     |\n";
  const std::string single = head + chip("12", "0", "910B3") + chip("13", "0", "910B3") + processes;
  const DetectedGpus one = facts_in_outputs(single + single).gpus.value();
  CHECK(one.name == "Ascend910B3");
  CHECK(one.count == 2);
  CHECK(one.memory_mib == 65536);
  CHECK(one.maker == "Huawei");
  CHECK(one.tool == "npu-smi");
  const std::string pair = chip("0", "0     0", "Ascend910") + chip("0", "1     1", "Ascend910");
  const DetectedGpus two =
      facts_in_outputs(head + pair + chip("1", "0     2", "Ascend910") + chip("1", "1     3", "Ascend910")).gpus.value();
  CHECK(two.name == "Ascend910");
  CHECK(two.count == 2);
  CHECK(two.memory_mib == 131072);
  const DetectedGpus mapping =
      facts_in_outputs("NPU ID   Chip ID   Chip Logic ID   Chip Name\n0   0   0   Ascend 910B3\n0   1   -   Mcu\n")
          .gpus.value();
  CHECK(mapping.name == "Ascend910B3");
  CHECK(mapping.count == 1);
}

TEST_CASE("sums of memory and of nodes do not overflow, and impossible rates are no rates") {
  // 10,000 parts of 999,999,999,999,999 MB are more than 2^63 MB, and 3,000 times 999,999 nodes more than 2^31.
  std::string chips =
      "npu-smi 25.3.rc1\n| NPU   Name  | Health | Power(W) |\n| Chip  | Bus-Id | HBM-Usage(MB) |\n| 0  910B3 | OK | 90.4 "
      "|\n";
  for (int i = 0; i < 10'000; ++i) chips += "| 0 | 0000:C1:00.0 | 0 / 999999999999999 |\n";
  const DetectedGpus npu = facts_in_outputs(chips).gpus.value();
  CHECK(npu.name == "Ascend910B3");
  CHECK(!npu.memory_mib);
  const std::string port = "CA 'mlx5_0'\nState: Active\nRate: 999999999999999\n";
  CHECK(!facts_in_outputs(port).ports);
  std::string rows = "NODELIST NODES GRES\n";
  for (int i = 0; i < 3'000; ++i) rows += "n" + std::to_string(i) + " 999999 gpu:h100:8\n";
  CHECK(facts_in_outputs(rows).nodes.value().count == 1'000'000);
}

TEST_CASE("devices of Trainium have the name of the family of instances") {
  const DetectedGpus found =
      facts_in_outputs(
          "instance-type: trn1.32xlarge\n| NEURON | NEURON | NEURON | PCI |\n| DEVICE | CORES | MEMORY | BDF |\n"
          "| 0      | 2      | 32 GB  | 00:1e.0 |\n| 1      | 2      | 32 GB  | 00:1f.0 |\n")
          .gpus.value();
  CHECK(found.name == "trn1");
  CHECK(found.count == 2);
  CHECK(found.memory_mib == 32768);
  CHECK(found.maker == "AWS");
}

TEST_CASE("GPUs are listed by reports of other programs") {
  const auto gpus = [](const std::string& text) { return facts_in_outputs(text).gpus.value(); };
  const DetectedGpus xml = gpus(
      "<attached_gpus>2</attached_gpus>\n<gpu id=\"00000000:01:00.0\">\n<product_name>NVIDIA L4</product_name>\n"
      "<bar1_memory_usage>\n<total>256 MiB</total>\n<fb_memory_usage>\n<total>23034 MiB</total>\n"
      "<gpu id=\"00000000:02:00.0\">\n<product_name>NVIDIA L4</product_name>\n");
  CHECK(xml.name == "NVIDIA L4");
  CHECK(xml.count == 2);
  CHECK(xml.memory_mib == 23034);
  const DetectedGpus report =
      gpus("GPU models and configuration: \nGPU 0: NVIDIA H200\nGPU 1: NVIDIA H200\n\nNvidia driver version: 570\n");
  CHECK(report.name == "NVIDIA H200");
  CHECK(report.count == 2);
  CHECK(gpus("GPU models and configuration: GPU 0: NVIDIA L4\n").count == 1);
  CHECK(
      gpus(
          "Intel GPU models onboard: \n* Intel(R) Arc(TM) Pro B60 Graphics\n* Intel(R) Arc(TM) Pro B60 Graphics\n\n* none\n")
          .count == 2);
  CHECK_FALSE(facts_in_outputs("GPU 0: NVIDIA H200\nGPU models and configuration: Could not collect\n").gpus);
  const DetectedGpus bus = gpus(
      "02:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 52)\n"
      "17:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
      "2a:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n");
  CHECK(is_same_gpu(bus.name, "NVIDIA H100 80GB HBM3"));
  CHECK(bus.count == 2);
  CHECK(gpus("c1:00.0 Processing accelerators: Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X]\n")
            .name == "AMD Instinct MI300X");
  const DetectedGpus agents = gpus(
      "  Name:   AMD EPYC 9534\n  Marketing Name:  AMD EPYC 9534\n  Name:   gfx942\n  Marketing Name:  AMD Instinct MI300X\n"
      "    Name:   amdgcn-amd-amdhsa--gfx942\n  Name:   gfx942\n  Marketing Name:  AMD Instinct MI300X\n");
  CHECK(agents.name == "AMD Instinct MI300X");
  CHECK(agents.count == 2);
  const DetectedGpus arc = gpus(
      "|            Intel XPU-SMI v2.1    Driver: 85B7CA    Level Zero: 1.28.6   |\n"
      "|   0  Intel(R) Arc(TM) B570   Off  | 0000:03:00.0      Off      |  Disabled |\n"
      "| 0%                N/A  41W / 190W | 32MiB / 10172MiB           |   Default |\n");
  CHECK(arc.tool == "xpu-smi");
  CHECK(arc.memory_mib == 10172);
}

TEST_CASE("rows of sinfo give nodes and their GPUs, and a node of two partitions counts once") {
  const HostFacts facts = facts_in_outputs(
      "NODELIST   NODES PARTITION GRES\ngpu[01-16] 16    batch     gpu:h100:8(S:0-1)\ngpu[01-16] 16    debug     "
      "gpu:h100:8(S:0-1)\ncpu[1-4]   4     cpu       (null)\n");
  REQUIRE(facts.gpus);
  CHECK(facts.gpus->count == 8);
  REQUIRE(facts.nodes);
  CHECK(facts.nodes->count == 16);
  CHECK(facts.nodes->with_gpus);
}

TEST_CASE("GPUs and ports of a second host are not added up") {
  const auto count = [](const std::string& host) {
    const HostFacts facts = facts_in_outputs(host + host);
    return facts.gpus ? facts.gpus->count : 0;
  };
  CHECK(count("GPU 0: NVIDIA L4 (UUID: GPU-1)\nGPU 1: NVIDIA L4 (UUID: GPU-3)\n") == 2);
  const std::string l40s = "    Product Name : NVIDIA L40S\n";
  const std::string query = "GPU 00000000:19:00.0\n" + l40s + "GPU 00000000:1A:00.0\n" + l40s;
  CHECK(count(query) == 2);
  CHECK(count("Attached GPUs : 2\n" + l40s + l40s) == 2);
  // One query for each GPU.
  const std::string attached = "Attached GPUs : 2\n";
  CHECK(count(attached + "GPU 00000000:19:00.0\n" + l40s + attached + "GPU 00000000:1A:00.0\n" + l40s) == 2);
  // nvidia-smi -q -i 0 shows one of the GPUs.
  CHECK(facts_in_outputs("Attached GPUs : 8\nGPU 00000000:19:00.0\n" + l40s).gpus->count == 8);
  CHECK(count("index, name\n0, NVIDIA A40\n1, NVIDIA A40\n") == 2);
  CHECK(count("name, memory.total [MiB]\nNVIDIA A40, 46068 MiB\nNVIDIA A40, 46068 MiB\n") == 2);
  CHECK(count("GPU[0] : Card series: AMD Instinct MI210\nGPU[1] : Card series: AMD Instinct MI210\n") == 2);
  CHECK(count("0 4 0x74a0, 50375 48.0 C\n1 5 0x74a0, 20890 53.0 C\n") == 2);
  const std::string tile = "0 0 0 SPX/NPS1 | 283/196592 MB |\n";
  CHECK(count("| AMD-SMI 26.0.0 |\n| 0000:0c:00.0 AMD Instinct MI300X | 0 % |\n| " + tile +
              "| 0000:0d:00.0 AMD Instinct MI300X | 0 % |\n| " + tile) == 2);
  CHECK(count("GPU: 0\n  MARKET_NAME: AMD Instinct MI300X\nGPU: 1\n  MARKET_NAME: AMD Instinct MI300X\n") == 2);
  CHECK(count("| 0 | Device Name: Intel(R) Data Center GPU Max 1550 |\n| 1 | Device Name: Intel(R) Data Center GPU Max 1550 "
              "|\n") == 2);
  const std::string agents =
      "Agent 1\n Marketing Name: AMD EPYC 7A53\n Device Type: CPU\nAgent 2\n Marketing Name: AMD Instinct MI250X\n Device "
      "Type: GPU\n";
  CHECK(count(agents) == 1);
  // Three tools list the same two adapters.
  const auto tools = [](const std::string& adapter) {
    return "CA '" + adapter + "'\n Port 1:\n State: Active\n Rate: 200\n";
  };
  const auto status = [](const std::string& adapter) {
    return "Infiniband device '" + adapter + "' port 1 status:\n state: 4: ACTIVE\n rate: 200 Gb/sec (4X HDR)\n";
  };
  const std::string stat = tools("mlx5_0") + tools("mlx5_1"), statuses = status("mlx5_0") + status("mlx5_1");
  CHECK(facts_in_outputs(stat + statuses).ports->count == 2);
  CHECK(facts_in_outputs(stat + stat).ports->count == 2);
  CHECK(facts_in_outputs(statuses + statuses).ports->from == "ibstatus, 200 Gb/sec (4X HDR)");
  CHECK(facts_in_outputs(statuses + statuses).ports->count == 2);
  const std::string nodes = "NodeName=n1\n Gres=gpu:h100:8\nNodeName=n2\n Gres=gpu:h100:8\n";
  CHECK(facts_in_outputs(nodes + nodes).nodes->count == 2);
}

TEST_CASE("an agent of rocminfo without a name has no other agent's name") {
  const std::string processor = "Agent 1\n Marketing Name: AMD EPYC 7A53\n Device Type: CPU\n";
  CHECK_FALSE(facts_in_outputs(processor + "Agent 2\n Marketing Name:\n Device Type: GPU\n").gpus);
  CHECK_FALSE(facts_in_outputs(processor + "Agent 2\n Device Type: GPU\n").gpus);
}

TEST_CASE("Slurm's names of GPUs are those of drivers, and nodes with other GPUs are not counted") {
  CHECK(is_same_gpu("nvidia_a100-sxm4-80gb", "NVIDIA A100-SXM4-40GB"));
  CHECK(is_same_gpu("nvidia_h100_80gb_hbm3", "NVIDIA H100 80GB HBM3"));
  CHECK_FALSE(is_same_gpu("nvidia_a100_80gb_pcie", "NVIDIA A100-SXM4-80GB"));
  const std::string nodes =
      "NodeName=n1\n Gres=gpu:a100:4(S:0)\nNodeName=n2\n Gres=gpu:h100:8\nNodeName=n3\n Gres=gpu:a100:4(S:0-1)\n";
  const HostFacts first = facts_in_outputs(nodes);
  CHECK(first.gpus->name == "a100");
  CHECK(first.nodes->count == 2);
  CHECK(first.nodes->others == "1 with gpu:h100:8");
  std::string host;
  for (int i = 0; i < 8; ++i) host += "GPU " + std::to_string(i) + ": NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n";
  const HostFacts own = facts_in_outputs(host + nodes);
  CHECK(own.nodes->count == 1);
  CHECK(own.nodes->others == "2 with gpu:a100:4");
}

TEST_CASE("links, processors, ports and nodes are read from one file") {
  const HostFacts facts = facts_in_outputs(
      "      GPU0  GPU1  CPU Affinity  NUMA Affinity\nGPU0   X    NV12   0-51         0\nGPU1  NV12   X     0-51         0\n"
      "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n\t Link 0: 25 GB/s\nGPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-2)\n"
      "Architecture:            x86_64\nModel name:              AMD EPYC 7742 64-Core Processor\nSocket(s):               "
      "2\n"
      "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n\t\tLink layer: InfiniBand\n"
      "CA 'mlx5_1'\n\tPort 1:\n\t\tState: Down\n\t\tRate: 200\nCA 'mlx5_2'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n"
      "NodeName=n1 Arch=x86_64 CoresPerSocket=32\n   Gres=gpu:a100:4(S:0-1)\nNodeName=n2 Arch=x86_64\n   "
      "Gres=gpu:a100:4(S:0-1)\n"
      "NodeName=login Arch=x86_64\n   Gres=(null)\n");
  REQUIRE(facts.gpus);
  CHECK(facts.gpus->count == 2);
  REQUIRE(facts.links);
  CHECK(facts.links->links == 12);
  CHECK(facts.links->link_gb == 25);
  CHECK(facts.processor->name == "AMD EPYC 7742 64-Core Processor");
  CHECK(facts.processor->sockets == 2);
  CHECK(facts.ports->count == 2);
  CHECK(facts.ports->gigabits == 200);
  CHECK(facts.ports->from == "ibstat, 200 Gb/s");
  CHECK(facts.nodes->count == 2);
  CHECK(facts.nodes->with_gpus);
  const HostFacts verbs = facts_in_outputs(
      "hca_id: mlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tactive_width:\t\t4X "
      "(2)\n\t\t\tactive_speed:\t\t25.0 "
      "Gbps (32)\n");
  CHECK(verbs.ports->gigabits == 100);
  // Slurm alone names the kind of GPU and their number.
  CHECK(facts_in_outputs("NodeName=n1 Arch=x86_64\n Gres=gpu:h100:8(S:0-1)\n").gpus->count == 8);
}

TEST_CASE("a node has at most 1,024 GPUs and ports") {
  const auto gpus = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "GPU " + std::to_string(i) + ": NVIDIA L4 (UUID: GPU-1)\n";
    return text;
  };
  CHECK(facts_in_outputs(gpus(1024)).gpus->count == 1024);
  CHECK(error_of([&] { (void)facts_in_outputs(gpus(1025)); }).find("nvidia-smi lists more than 1,024 GPUs") !=
        std::string::npos);
  std::string ports;
  for (int i = 0; i < 1025; ++i) ports += "CA 'mlx5_" + std::to_string(i) + "'\n\tState: Active\n\tRate: 200\n";
  CHECK(error_of([&] { (void)facts_in_outputs(ports); }).find("ibstat lists more than 1,024 ports") != std::string::npos);
}

TEST_CASE("text of other programs has no facts") {
  const HostFacts facts = facts_in_outputs("# nThread 1 nGpus 8\n| a | b |\nModel: resnet50\nRate: 5\n0, 1, 2\n");
  CHECK_FALSE(facts.gpus);
  CHECK_FALSE(facts.links);
  CHECK_FALSE(facts.processor);
  CHECK_FALSE(facts.ports);
  CHECK_FALSE(facts.nodes);
}

}  // namespace captured_host_tests
