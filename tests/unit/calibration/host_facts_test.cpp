#include "calibration/inputs/host_facts.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "core/program_output.hpp"
#include "tests/catch.hpp"

namespace host_facts_tests {

using namespace ddl;
namespace fs = std::filesystem;

namespace {

/// A host made of files: its /proc and /sys, and its programs.
class Host {
 public:
  Host() : path_(fs::temp_directory_path() / "ddl-host-facts-test") {
    fs::remove_all(path_);
    fs::create_directories(path_ / "bin");
  }
  ~Host() { fs::remove_all(path_); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void file(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  void program(const std::string& name, const std::string& script) const {
    file("bin/" + name, "#!/bin/sh\n" + script);
    fs::permissions(path_ / "bin" / name, fs::perms::owner_all);
  }
  void port(const std::string& adapter, const std::string& rate, const std::string& state = "4: ACTIVE") const {
    file("sys/class/infiniband/" + adapter + "/ports/1/rate", rate + "\n");
    file("sys/class/infiniband/" + adapter + "/ports/1/state", state + "\n");
  }
  void card(const std::string& name, const std::string& speed, const std::string& state = "up") const {
    file("sys/class/net/" + name + "/speed", speed + "\n");
    file("sys/class/net/" + name + "/operstate", state + "\n");
    file("sys/class/net/" + name + "/device/vendor", "0x15b3\n");
  }
  [[nodiscard]] std::string search_path() const { return (path_ / "none").string() + "::" + (path_ / "bin").string(); }
  [[nodiscard]] HostFacts facts() const { return detect_host({path_.string(), search_path()}); }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("a host without information has no facts") {
  const HostFacts facts = Host().facts();
  CHECK_FALSE(facts.gpus);
  CHECK_FALSE(facts.processor);
  CHECK_FALSE(facts.ports);
  CHECK_FALSE(facts.nodes);
}

TEST_CASE("the detected GPU is the one that nvidia-smi lists most often") {
  const Host host;
  host.program("nvidia-smi",
               "test \"$1\" = --query-gpu=name,memory.total || exit 1\n"
               "printf 'NVIDIA H100 80GB HBM3, 81559\\nNVIDIA T400, 2048\\nNVIDIA H100 80GB HBM3, 81559\\n'\n");
  const auto gpus = host.facts().gpus;
  REQUIRE(gpus);
  CHECK(gpus->name == "NVIDIA H100 80GB HBM3");
  CHECK(gpus->count == 2);
  CHECK(gpus->memory_mib == 81559);
  CHECK(gpus->others == "1 x NVIDIA T400");
}

TEST_CASE("a GPU without a memory size is counted, and a failing driver lists none") {
  const Host host;
  host.program("nvidia-smi", "echo 'NVIDIA GB10, [N/A]'\n");
  REQUIRE(host.facts().gpus);
  CHECK_FALSE(host.facts().gpus->memory_mib);
  host.program("nvidia-smi", "echo 'NVIDIA-SMI has failed, 9'; exit 9\n");
  CHECK_FALSE(host.facts().gpus);
  host.program("nvidia-smi", "echo 'No devices were found'\n");
  CHECK_FALSE(host.facts().gpus);
}

TEST_CASE("devices of other makers are listed by their own tools") {
  struct Tool {
    std::string name, output, device, maker;
    std::optional<std::int64_t> memory{};
  };
  for (const Tool& tool : {
           Tool{"rocm-smi",
                "device,VRAM Total Memory (B),VRAM Total Used Memory (B),Card Series,Card Model,Card Vendor\n"
                "card0,206141652992,297086976,AMD Instinct MI300X,0x74a1,AMD\n"
                "card1,206141652992,297086976,AMD Instinct MI300X,0x74a1,AMD\n",
                "AMD Instinct MI300X", "AMD", 196592},
           Tool{"rocm-smi", "GPU[0]\t\t: Card series: \t\tInstinct MI210\nGPU[1]\t\t: Card series: \t\tInstinct MI210\n",
                "Instinct MI210", "AMD"},
           Tool{"amd-smi",
                "GPU: 0\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X\n    VRAM:\n        SIZE: 196592 MB\n"
                "GPU: 1\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X\n    VRAM:\n        SIZE: 196592 MB\n",
                "AMD Instinct MI300X", "AMD", 196592},
           Tool{"hl-smi", "HL-225, 98304 MiB\nHL-225, 98304 MiB\n", "HL-225", "Habana", 98304},
           Tool{"xpu-smi",
                "| 0         | Device Name: Intel(R) Data Center GPU Max 1550 |\n"
                "| 1         | Device Name: Intel(R) Data Center GPU Max 1550 |\n",
                "Intel(R) Data Center GPU Max 1550", "Intel"},
       }) {
    INFO(tool.name << tool.output);
    const Host host;
    host.file("answer", tool.output);
    host.program(tool.name, "exec cat \"$(dirname \"$0\")/../answer\"");
    const auto gpus = host.facts().gpus;
    REQUIRE(gpus);
    CHECK(gpus->name == tool.device);
    CHECK(gpus->count == 2);
    CHECK(gpus->memory_mib == tool.memory);
    CHECK(gpus->maker == tool.maker);
    CHECK(gpus->tool == tool.name);
    CHECK(maker_of(tool.device) == tool.maker);
  }
}

TEST_CASE("links between GPUs are those of nvidia-smi's table") {
  const auto links = [](const std::string& table, const std::string& rates = "") {
    const Host host;
    host.file("table", table);
    host.file("rates", rates);
    host.program("nvidia-smi",
                 "at=$(dirname \"$0\")/..\ncase \"$1\" in topo) cat $at/table;; nvlink) cat $at/rates;; "
                 "*) echo 'NVIDIA GeForce RTX 3090, 24576'; echo 'NVIDIA GeForce RTX 3090, 24576';; esac");
    return host.facts().links;
  };
  const auto bridge =
      links("\t\x1B[4mGPU0\tGPU1\tCPU Affinity\x1B[0m\nGPU0\t X \tNV4\t0-15\nGPU1\tNV4\t X \t0-15\n\nLegend:\n  X = Self\n",
            "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\n\t Link 0: 14.062 GB/s\n\t Link 1: 14.062 GB/s\n");
  REQUIRE(bridge);
  CHECK(bridge->kind == DetectedLinks::Kind::all);
  CHECK(bridge->links == 4);
  CHECK(bridge->link_gb == 14.062);
  const std::string head = "\tGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tCPU Affinity\n";
  const auto pairs = links(head +
                           "GPU0\t X\tNV4\tNODE\tSYS\tPIX\nGPU1\tNV4\t X\tSYS\tSYS\tPIX\n"
                           "GPU2\tNODE\tSYS\t X\tNV4\tSYS\nGPU3\tSYS\tSYS\tNV4\t X\tSYS\nmlx5_0\tPIX\tPIX\tSYS\tSYS\t X\n");
  REQUIRE(pairs);
  CHECK(pairs->kind == DetectedLinks::Kind::some);
  CHECK(pairs->path == "SYS");
  // Four A100 that are joined directly have four links to each other GPU. Behind NVSwitch, each pair shows all 12.
  const auto table = [&](const std::string& cell) {
    return head + "GPU0\t X\t" + cell + "\t" + cell + "\t" + cell + "\tPIX\nGPU1\t" + cell + "\t X\t" + cell + "\t" + cell +
           "\tPIX\nGPU2\t" + cell + "\t" + cell + "\t X\t" + cell + "\tPIX\nGPU3\t" + cell + "\t" + cell + "\t" + cell +
           "\t X\tPIX\n";
  };
  CHECK(links(table("NV4"))->links == 12);
  CHECK(links(table("NV12"))->links == 12);
  CHECK(links(table("PHB"))->kind == DetectedLinks::Kind::none);
  CHECK_FALSE(links("NVIDIA GeForce RTX 3090, 24576\n"));
  CHECK_FALSE(links("\tGPU0\tGPU1\nGPU0\t X\n"));
}

TEST_CASE("a GPU has different names in drivers of different years") {
  CHECK(is_same_gpu("A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"));
  CHECK(is_same_gpu("NVIDIA GH200 480GB", "NVIDIA GH200 120GB"));
  CHECK(is_same_gpu("NVIDIA GH200 144G HBM3e", "NVIDIA GH200 120GB"));
  CHECK(is_same_gpu("Tesla V100-PCIE-16GB", "Tesla V100-PCIE-32GB"));
  CHECK(is_same_gpu("NVIDIA H100 80GB HBM3", "NVIDIA H100"));
  CHECK(is_same_gpu("GeForce RTX 3090", "NVIDIA GeForce RTX 3090"));
  CHECK(is_same_gpu("Instinct MI210", "AMD Instinct MI210"));
  CHECK_FALSE(is_same_gpu("NVIDIA H200 NVL", "NVIDIA H200"));
  CHECK_FALSE(is_same_gpu("NVIDIA A10G", "NVIDIA A10"));
  CHECK_FALSE(is_same_gpu("Tesla V100-DGXS-32GB", "Tesla V100-SXM2-32GB"));
  CHECK_FALSE(is_same_gpu("NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM4-40GB"));
  CHECK_FALSE(is_same_gpu("NVIDIA RTX 6000 Ada Generation", "Quadro RTX 6000"));
}

TEST_CASE("the processor is read from /proc/cpuinfo, else from lscpu") {
  const Host host;
  host.program("lscpu", "printf 'Architecture: aarch64\\nModel name:   Neoverse-V2\\nSocket(s):    4\\n'\n");
  REQUIRE(host.facts().processor);
  CHECK(host.facts().processor->name == "Neoverse-V2");
  CHECK(host.facts().processor->sockets == 4);
  CHECK(host.facts().processor->from == "lscpu");
  host.file("proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\nphysical id\t: 0\n\n"
            "processor\t: 1\nmodel name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\nphysical id\t: 1\n");
  CHECK(host.facts().processor->name == "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz");
  CHECK(host.facts().processor->sockets == 2);
  CHECK(host.facts().processor->from == "/proc/cpuinfo");
}

TEST_CASE("the network is the fastest active ports of InfiniBand") {
  const Host host;
  host.port("mlx5_0", "400 Gb/sec (4X NDR)");
  host.port("mlx5_1", "400 Gb/sec (4X NDR)");
  host.port("mlx5_2", "400 Gb/sec (4X NDR)", "1: DOWN");
  host.port("mlx5_3", "100 Gb/sec (4X EDR)");
  host.card("eth0", "800000");
  const auto ports = host.facts().ports;
  REQUIRE(ports);
  CHECK(ports->count == 2);
  CHECK(ports->gigabits == 400);
  CHECK(ports->from == "/sys/class/infiniband, 400 Gb/sec (4X NDR)");
}

TEST_CASE("without InfiniBand, the network consists of the fastest active cards, if these are fast enough") {
  const Host host;
  host.card("eno1", "1000");
  CHECK_FALSE(host.facts().ports);
  host.card("hsn0", "200000");
  host.card("hsn1", "200000");
  host.card("hsn2", "200000", "down");
  host.card("hsn3", "-1");
  host.file("sys/class/net/docker0/speed", "400000\n");
  host.file("sys/class/net/docker0/operstate", "up\n");
  const auto ports = host.facts().ports;
  REQUIRE(ports);
  CHECK(ports->count == 2);
  CHECK(ports->gigabits == 200);
}

TEST_CASE("nodes are the nodes with GPUs that Slurm lists, or all nodes") {
  const Host host;
  host.program("scontrol", "printf 'NodeName=a Gres=gpu:8 x\\nNodeName=b Gres=gpu:8\\nNodeName=login Gres=(null)\\n'\n");
  REQUIRE(host.facts().nodes);
  CHECK(host.facts().nodes->count == 2);
  CHECK(host.facts().nodes->with_gpus);
  host.program("scontrol", "printf 'NodeName=a Gres=(null)\\nNodeName=b Gres=(null)\\nNodeName=c Gres=(null)\\n'\n");
  CHECK(host.facts().nodes->count == 3);
  CHECK_FALSE(host.facts().nodes->with_gpus);
  host.program("scontrol", "echo 'No nodes in the system'\n");
  CHECK_FALSE(host.facts().nodes);
}

TEST_CASE("a program that does not respond is killed") {
  using namespace std::chrono_literals;
  const Host host;
  host.program("sleeper", "sleep 60\n");
  host.program("closer", "exec >&-; sleep 60\n");
  host.program("arguments", "printf '%s|' \"$@\"\n");
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(program_output({"sleeper"}, host.search_path(), 100ms));
  CHECK_FALSE(program_output({"closer"}, host.search_path(), 100ms));
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  CHECK_FALSE(program_output({"missing"}, host.search_path(), 100ms));
  CHECK_FALSE(program_output({"arguments"}, "", 10s));
  CHECK(program_output({"arguments", "a b", "$c"}, host.search_path(), 10s) == "a b|$c|");
}

}  // namespace host_facts_tests
