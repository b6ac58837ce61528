#include "calibration/inputs/host_facts.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
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
