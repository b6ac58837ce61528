// Compares ring Allreduces on a fat tree with a spine that is over-subscribed 1:3, alone and four
// concurrently, as simulated by SimGrid and as predicted by the estimator's topology. SimGrid gets
// single links, and the estimator gets a machine file, so the two are independent.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "tests/catch.hpp"

namespace {

using namespace ddl;

constexpr double host_megabytes = 1250;  // 10 Gb/s
constexpr int over_subscription = 3;

/// Returns the platform file of hosts in leaves. Above each leaf, a link has a third of the total
/// bandwidth of the leaf's hosts. The latency of each link is 1 us.
std::string platform(int hosts, int leaf) {
  const int leaves = hosts / leaf;
  std::string xml =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id=\"all\" routing=\"Full\">\n";
  for (int l = 0; l < leaves; ++l) {
    xml += fmt::format(
        "<cluster id=\"leaf{0}\" prefix=\"host\" suffix=\"\" radical=\"{1}-{2}\" speed=\"1Gf\" bw=\"{3}MBps\" lat=\"1us\" "
        "sharing_policy=\"SPLITDUPLEX\"/>\n",
        l, l * leaf, (l + 1) * leaf - 1, host_megabytes);
    xml += fmt::format("<link id=\"up{}\" bandwidth=\"{}MBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>\n", l,
                       host_megabytes * leaf / over_subscription);
  }
  for (int from = 0; from < leaves; ++from) {
    for (int to = from + 1; to < leaves; ++to) {
      xml += fmt::format(
          "<zoneRoute src=\"leaf{0}\" dst=\"leaf{1}\" gw_src=\"hostleaf{0}_router\" gw_dst=\"hostleaf{1}_router\">"
          "<link_ctn id=\"up{0}\" direction=\"UP\"/><link_ctn id=\"up{1}\" direction=\"DOWN\"/></zoneRoute>\n",
          from, to);
    }
  }
  return xml + "</zone></platform>\n";
}

/// Returns the same cluster as a datasheet. α across a leaf is the latency of two links; across the spine, of four links.
std::string sheet(int hosts, int leaf) {
  return fmt::format(R"(format: 1
machine: simulated
description: hosts of one device under a spine that is over-subscribed
sources: {{known: "assumed: links of a simulation"}}
device:
  name: host
  peak: {{fp32: {{value: 1 TFLOP/s, source: known}}}}
  memory: {{value: 1 TiB, source: known}}
  memory_bandwidth: {{value: 100 GB/s, source: known}}
  tile: {{value: 1, source: known}}
levels:
  - name: host
    units: {{value: 1, source: known}}
    latency: {{value: 0 us, source: known}}
    bandwidth: {{value: 10 Gb/s, source: known}}
    rails: {{value: 1, source: known}}
  - name: leaf
    units: {{value: {}, source: known}}
    latency: {{value: 2 us, source: known}}
    bandwidth: {{value: 10 Gb/s, source: known}}
    rails: {{value: 1, source: known}}
  - name: spine
    units: {{value: {}, source: known}}
    latency: {{value: 4 us, source: known}}
    bandwidth: {{value: 10 Gb/s, source: known}}
    oversubscription: {{value: {}, source: known}}
)",
                     leaf, hosts / leaf, over_subscription);
}

struct Simulated {
  int ranks = 0;
  double bytes = 0, seconds = 0;
};

/// Runs the sweep on the platform. CM02 uses links unchanged, whereas SMPI's own model would scale latency and bandwidth.
/// Acknowledgements take no bandwidth of the other direction, flows are not limited by a TCP window, and compute takes no
/// time. `lr` is the logical ring among SMPI's algorithms.
std::vector<Simulated> simulate(int hosts, int leaf, int groups, const std::string& sizes) {
  const std::string name = fmt::format(DDL_SIMGRID_FOLDER "/{}-{}", hosts, leaf);
  std::ofstream(name + ".xml") << platform(hosts, leaf);
  std::ofstream list(name + ".hosts");
  for (int host = 0; host < hosts; ++host) list << "host" << host << '\n';
  list.close();
  const std::string command =
      fmt::format(DDL_SMPIRUN
                  " -np {} -platform {}.xml -hostfile {}.hosts --cfg=network/model:CM02 --cfg=network/crosstraffic:0 "
                  "--cfg=network/TCP-gamma:1e12 --cfg=smpi/allreduce:lr --cfg=smpi/simulate-computation:no "
                  "--log=root.thres:warning " DDL_SIMGRID_SWEEP " {} {}",
                  hosts, name, name, groups, sizes);
  std::vector<Simulated> results;
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  REQUIRE(output != nullptr);
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), output.get()) != nullptr) {
    Simulated one;
    int of = 0;
    if (std::sscanf(line.data(), "sweep %d %d %lf %lf", &of, &one.ranks, &one.bytes, &one.seconds) == 4) {
      results.push_back(one);
    }
  }
  return results;
}

void compare(int hosts, int leaf, int groups, const std::string& sizes) {
  const Machine machine = parse_machine(sheet(hosts, leaf), "sheet");
  Plan plan;
  plan.mesh.set(Axis::filter, groups);
  plan.mesh.set(Axis::data, hosts / groups);
  const Coefficients nothing;
  Assumptions assumptions;
  assumptions.allreduce = AllreduceAlgorithm::ring;
  const ExchangeTimes times(plan, machine, nothing, assumptions);
  const std::vector<Simulated> simulated = simulate(hosts, leaf, groups, sizes);
  REQUIRE(simulated.size() == static_cast<std::size_t>(std::count(sizes.begin(), sizes.end(), ' ')) + 1);
  for (const Simulated& one : simulated) {
    REQUIRE(one.ranks == plan.mesh[Axis::data]);
    const ExchangeTimes::Choice choice = times.allreduce(Bytes(one.bytes), family_bit(Axis::data), Purpose::gradient);
    const double predicted = choice.time.value();
    const double error = predicted / one.seconds - 1;
    fmt::print("| {} | {} | {} x {} | {:.0f} KiB | {} | {:.2f} | {:.3f} | {:.3f} | {:+.1f} % |\n", hosts, leaf, groups,
               one.ranks, one.bytes / 1024, choice.bottleneck.level, choice.bottleneck.phi, one.seconds * 1e3,
               predicted * 1e3, error * 100);
    INFO(hosts << " hosts, leaves of " << leaf << ", " << groups << " groups, " << one.bytes << " B");
    CHECK(std::abs(error) < 0.1);
  }
}

void compare_all(int hosts, const std::vector<int>& leaves, const std::string& sizes) {
  for (const int leaf : leaves) {
    for (const int groups : {1, 4}) compare(hosts, leaf, groups, sizes);
  }
}

TEST_CASE("64 hosts") { compare_all(64, {4, 8}, "65536 1048576 16777216"); }
TEST_CASE("256 hosts", "[.]") { compare_all(256, {4}, "65536 16777216"); }
// All other rows of the table in docs/validation.md take a minute, and the last rows take some minutes: simgrid_test "more
// leaves". With 1,024 hosts, 64 KiB are divided into pieces of 64 bytes, whose simulation did not end in eight minutes.
TEST_CASE("more leaves", "[.]") {
  compare_all(64, {16}, "65536 1048576 16777216");
  compare_all(256, {4, 8, 16}, "65536 1048576 16777216");
}
TEST_CASE("1024 hosts", "[.]") { compare_all(1024, {8}, "1048576 16777216"); }

}  // namespace
