// Outputs of communication benchmarks other than nccl-tests and OSU's first tests, and outputs behind prefixes. The texts
// are excerpts of published outputs, each with its source.

#include "calibration/network/benchmarks/benchmark_formats.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/network/benchmarks/gpcnet_text.hpp"
#include "calibration/network/fits/fit.hpp"
#include "calibration/network/fits/pair_contention.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace benchmark_formats_tests {

using namespace ddl;

namespace {

struct Reading {
  std::vector<ExchangeSeries> series;
  std::vector<std::string> warnings;
};

Reading read(const std::string& text, const ExchangeFacts& facts = {}) {
  Reading reading;
  reading.series = parse_exchanges(text, "f.txt", {facts, {}}, reading.warnings);
  return reading;
}

std::string error_in(const std::string& text, const ExchangeFacts& facts = {}) {
  return error_of([&] { (void)read(text, facts); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool warns(const Reading& reading, const std::string& part) {
  return std::any_of(reading.warnings.begin(), reading.warnings.end(),
                     [&](const std::string& warning) { return contains(warning, part); });
}

double micros(const ExchangeSeries& series, double bytes) {
  const auto found = std::find_if(series.rows.begin(), series.rows.end(),
                                  [&](const MeasuredExchange& row) { return row.message.value() == bytes; });
  REQUIRE(found != series.rows.end());
  return found->time.value() * 1e6;
}

/// The same text with a prefix before each line. `#` in the prefix stands for the number of the line.
std::string behind(const std::string& prefix, const std::string& text) {
  std::string result;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string own = prefix;
    if (const std::size_t sign = own.find('#'); sign != std::string::npos) own.replace(sign, 1, std::to_string(++number));
    result += own + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return result;
}

const ExchangeFacts allreduce_of_two{.operation = Collective::allreduce};

// github.com/aws-samples/aws-do-eks, wd/conf/terraform/eks-efa/README.md: two nodes with a T4 each, over EFA.
const std::string two_t4 =
    "# nThread 1 nGpus 1 minBytes 4 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 100 agg iters: 1\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid     21 on worker-0 device  0 [0x35] Tesla T4\n"
    "#  Rank  1 Group  0 Pid     21 on worker-1 device  0 [0xf5] Tesla T4\n"
    "#\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    "           4             1     float     sum      -1    65.70    0.00    0.00      0    64.84    0.00    0.00      0\n"
    "   536870912     134217728     float     sum      -1   172050    3.12    3.12      0   172018    3.12    3.12      0\n"
    "  1073741824     268435456     float     sum      -1   343972    3.12    3.12      0   343932    3.12    3.12      0\n";

}  // namespace

TEST_CASE("an output is read behind any prefix that repeats") {
  const Reading plain = read(two_t4, allreduce_of_two);
  REQUIRE(plain.series.size() == 1);
  CHECK(plain.series[0].ranks == 2);
  CHECK(plain.series[0].nodes == 2);
  CHECK(plain.series[0].rows.size() == 6);
  for (const std::string prefix :
       {"2024-05-07T12:34:56.789012345Z ", "2024-05-07T12:34:56.78901#345Z [1,0]<stdout>:", "[12:34:56] ", "12:34:56,1# ",
        "[2024-05-07 12:34:56.1#] ", "2024/05/07 12:34:56 0: ", "nccl-launcher-x7k2p nccl ", "worker-0  | ",
        "[pod/nccl-test-launcher-abcde/launcher] ", "May  7 12:34:56 host-# nccl[21]: ", "\x1B[32m", "[1715085296.12#] ",
        "\x1B[36mworker-0 |\x1B[0m 2024-05-07T12:34:56Z ", "INFO:launcher:#: "}) {
    INFO(prefix);
    const Reading reading = read(behind(prefix, two_t4), allreduce_of_two);
    REQUIRE(reading.series.size() == 1);
    CHECK(reading.series[0].rows.size() == plain.series[0].rows.size());
    CHECK(reading.series[0].ranks == 2);
    CHECK(reading.series[0].nodes == 2);
    CHECK(reading.series[0].rows.back().time == plain.series[0].rows.back().time);
  }
}

TEST_CASE("progress bars in an output do not matter") {
  const std::string bars = "Loading:   0%|    | 0/4\rLoading: 100%|####| 4/4\rDone.\r\n";
  const Reading reading = read(bars + two_t4, allreduce_of_two);
  REQUIRE(reading.series.size() == 1);
  CHECK(reading.series[0].rows.size() == 6);
  CHECK(contains(error_in(bars + two_t4.substr(0, two_t4.rfind("268435456")) + "\n", allreduce_of_two), "f.txt:12:"));
}

// The form is that of github.com/Azure/azurehpc, examples/simple_hpc_slurm/readme.md.
TEST_CASE("the heading of a page is no prefix of the lines behind it") {
  const std::string output =
      "# Benchmarking PingPong \n# #processes = 2 \n       #bytes #repetitions      t[usec]   Mbytes/sec\n"
      "            8         1000         1.72         4.64\n"
      "         1024         1000         2.00       512.00\n";
  for (const std::string heading : {"## Using the cluster\n\n", "### Size of messages\n\n", ""}) {
    const Reading page = read(heading + output, {.nodes = 2});
    REQUIRE(page.series.size() == 1);
    CHECK(page.series[0].rows.size() == 2);
  }
}

TEST_CASE("an error behind a prefix has its place in the file") {
  const std::string cut = two_t4.substr(0, two_t4.rfind("268435456"));
  CHECK(contains(error_in(behind("2024-05-07T12:34:56Z ", cut + "\n"), allreduce_of_two), "f.txt:11:"));
}

// github.com/microsoft/superbenchmark, tests/data/nccl_alltoall.log: eight A100 of one node, nccl-tests of 2021.
TEST_CASE("a version may leave the reduction of an all-to-all blank") {
  const std::string header =
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  const Reading reading = read(
      header +
          "          32             1   float            89.00    0.00    0.00    N/A    85.13    0.00    0.00    N/A\n"
          "          64             2   float            86.83    0.00    0.00    N/A    85.77    0.00    0.00    N/A\n",
      {.operation = Collective::all_to_all});
  REQUIRE(reading.series.size() == 1);
  CHECK(reading.series[0].ranks == 8);
  CHECK(micros(reading.series[0], 64) == Approx(86.83));
  // A row that lacks another cell is still cut.
  CHECK(contains(
      error_in(header + "          32             1   float     sum    89.00    0.00    0.00    N/A    85.13    0.00\n",
               {.operation = Collective::all_to_all}),
      "cells, but the table has"));
}

TEST_CASE("runs that were mixed, and ranks that share a device, are named") {
  const std::string header =
      two_t4.substr(two_t4.find("#       size"), two_t4.find("           4") - two_t4.find("#       size"));
  const auto row = [](int bytes) {
    return fmt::format(
        "{:12}{:14}     float     sum      -1    40.00    0.00    0.00      0    45.02    0.00    0.00      0\n", bytes,
        bytes / 4);
  };
  const ExchangeFacts two{.operation = Collective::allreduce, .ranks = 2};
  // github.com/NVIDIA/nccl-tests, issue 182: two runs wrote into one table.
  CHECK(contains(error_in(header + row(8) + row(16) + row(32) + row(8) + row(64) + row(16), two),
                 "rows of several runs are mixed in this table"));
  // A run may repeat its sweep (-N).
  CHECK(read(header + row(8) + row(16) + row(32) + row(8) + row(16) + row(32), two).series.at(0).rows.size() == 12);
  const auto rank = [](int number, const std::string& host, const std::string& device) {
    return fmt::format("#  Rank {:2} Group  0 Pid  {} on {} device  0 [{}] GPU\n", number, 1300 + number, host, device);
  };
  // github.com/NVIDIA/nccl-tests, issue 107: both processes are rank 0, because nccl-tests was built without MPI.
  CHECK(contains(error_in(rank(0, "a", "0x35") + rank(0, "b", "0x35") + header, two),
                 "2 runs of a single rank each wrote into this output"));
  CHECK(contains(error_in(rank(0, "a", "0x1") + rank(1, "b", "0x1") + rank(0, "a", "0x1") + header + row(8), two),
                 "rank 0 is listed 2 times"));
  const std::string same_bus = "0000:02:00";
  CHECK(contains(error_in(rank(0, "a", same_bus) + rank(1, "a", same_bus) + header + row(8), two),
                 "ranks 0 and 1 used the same device of a, [0000:02:00]"));
  CHECK(read(rank(0, "a", same_bus) + rank(1, "b", same_bus) + header + row(8), two).series.at(0).nodes == 2);
  // Old versions print a part of the address, which is 0 in virtual machines.
  CHECK(read(rank(0, "a", "0x00") + rank(1, "a", "0x00") + header + row(8), two).series.at(0).nodes == 1);
}

TEST_CASE("a program's name may have a suffix, and a reduction excludes other operations") {
  const std::string table = two_t4.substr(two_t4.find("#       size"));
  for (const std::string name : {"all_reduce_perf_mpi", "/opt/nccl_tests/build/all_reduce_perf", "all_reduce_perf-2.13"}) {
    INFO(name);
    CHECK(read("# Collective test starting: " + name + "\n" + table).series.at(0).operation == Collective::allreduce);
  }
  CHECK(contains(error_in("# Collective test starting: all_reduce_perform\n" + table), "operation is missing"));
  CHECK(contains(error_in(table, {.operation = Collective::broadcast}), "the column 'redop' names a reduction"));
  CHECK(read(table, {.operation = Collective::reduce}).series.at(0).operation == Collective::reduce);
}

TEST_CASE("outputs of several benchmarks in one file are taken apart") {
  const std::string osu = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n8  1.0\n16  1.2\n";
  const Reading reading = read(osu + "done\n# Collective test starting: all_reduce_perf\n" + two_t4 + osu);
  CHECK(reading.series.size() == 3);
}

// Public logs of a cluster at OCI: Intel MPI Benchmarks 2021.6 between two nodes, and the form of its collectives.
TEST_CASE("Intel MPI Benchmarks state ranks, and average times") {
  const std::string head = "#    Intel(R) MPI Benchmarks 2021.6, MPI-1 part\n";
  const Reading pair = read(head +
                                "# Benchmarking PingPong \n# #processes = 2 \n"
                                "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
                                "            0         1000         1.71         0.00\n"
                                "            8         1000         1.72         4.64\n"
                                "    268435456            1     21929.37     12240.91\n\n",
                            {.nodes = 2});
  REQUIRE(pair.series.size() == 1);
  CHECK(pair.series[0].operation == Collective::point_to_point);
  CHECK(pair.series[0].ranks == 2);
  CHECK(pair.series[0].tool == "Intel MPI Benchmarks 2021.6");
  CHECK(micros(pair.series[0], 268435456) == Approx(21929.37));
  const auto table = [](const std::string& name) {
    return "# Benchmarking " + name +
           " \n# #processes = 144 \n#----\n"
           "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
           "            8         1000        10.00        12.00        11.00\n"
           "         1024         1000        20.00        22.00        21.00\n";
  };
  const Reading several =
      read(head + table("Allreduce") + table("Exchange") + table("Allgather") + "# Benchmarking Barrier \n", {.nodes = 4});
  REQUIRE(several.series.size() == 2);
  CHECK(several.series[0].ranks == 144);
  CHECK(micros(several.series[0], 1024) == Approx(21));
  CHECK(several.series[0].rows[0].spread->value() == Approx(1e-6));
  // The size of an Allgather is that of one rank's part.
  CHECK(micros(several.series[1], 144 * 1024) == Approx(21));
  CHECK(warns(several, "benchmarks that no plan uses are ignored: Barrier, Exchange"));
  CHECK(contains(error_in(head + table("Exchange")), "no benchmark of this file has an operation that plans use"));
}

// github.com/microsoft/superbenchmark, tests/data/ib_loopback_all_sizes.log: both ends wrote into one file. A message of 8
// MiB takes 1 / 0.002905e6 s by the column MsgRate.
TEST_CASE("perftest's bandwidths count mebibytes") {
  const std::string text =
      "                    RDMA_Write BW Test\n"
      "                    RDMA_Write BW Test\n"
      "TX depth        : 128\n"
      "local address: LID 0xd06 QPN 0x092f PSN 0x3ff1bc\nremote address: LID 0xd06 QPN 0x092e PSN 0x3eb82d\n"
      "#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      "2          2000             5.32               5.30               2.778732\n"
      "8388608    2000             23240.68            23240.68           0.002905\n"
      "---------------------------------------------------------------------------------------\n"
      "8388608    2000             23240.68            23240.68           0.002905\n";
  const Reading reading = read(text, {.nodes = 1});
  REQUIRE(reading.series.size() == 1);
  CHECK(reading.series[0].window == 128);
  CHECK(reading.series[0].rows.size() == 3);
  CHECK(micros(reading.series[0], 8388608) == Approx(1 / 0.002905).epsilon(1e-3));
  CHECK(warns(reading, "one adapter sent to itself"));
  const std::string latency =
      "                    Send Latency Test\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
      "percentile[usec]"
      "   99.9% percentile[usec]\n"
      " 2       100000          1.55           7.16         1.60              1.61             0.07            1.62"
      "                 3.49\n";
  CHECK(micros(read(latency, {.nodes = 2}).series.at(0), 2) == Approx(1.60));
  CHECK(contains(error_in("RDMA_Read Latency Test\n"), "the test measures a round trip"));
}

TEST_CASE("rccl-tests' records state operation, ranks and nodes") {
  const auto record = [](int size, int in_place, double time) {
    return fmt::format(
        "{{\"numCycle\":0, \"name\":\"AllReduce\", \"nodes\":1, \"ranks\":2, \"ranksPerNode\":2, "
        "\"gpusPerRank\":1, \"size\":{}, \"type\":\"float\", \"redop\":\"sum\", \"inPlace\":{}, \"time\":{}, "
        "\"algBw\":1.0, \"busBw\":1.0, \"wrong\":\"0\"}}",
        size, in_place, time);
  };
  const std::string list =
      "[\n" + record(1024, 0, 10.5) + ",\n" + record(1024, 1, 9.5) + ",\n" + record(4096, 0, 20) + "\n]\n";
  const std::string lines = record(1024, 0, 10.5) + "\n" + record(1024, 1, 9.5) + "\n" + record(4096, 0, 20) + "\n";
  const std::string csv =
      "numCycle, name, nodes, ranks, ranksPerNode, gpusPerRank, size, type, redop, inPlace, time, algbw, busbw, #wrong\n"
      "0, AllReduce, 1, 2, 2, 1, 1024, float, sum, 0, 10.5, 1.0, 1.0, 0\n"
      "0, AllReduce, 1, 2, 2, 1, 1024, float, sum, 1, 9.5, 1.0, 1.0, 0\n"
      "0, AllReduce, 1, 2, 2, 1, 4096, float, sum, 0, 20, 1.0, 1.0, 0\n";
  for (const std::string& text : {list, lines, csv}) {
    INFO(text);
    const Reading reading = read(text);
    REQUIRE(reading.series.size() == 1);
    CHECK(reading.series[0].operation == Collective::allreduce);
    CHECK(reading.series[0].ranks == 2);
    CHECK(reading.series[0].nodes == 1);
    CHECK(reading.series[0].rows.size() == 3);
    CHECK(micros(reading.series[0], 4096) == Approx(20));
  }
  CHECK(
      contains(error_in("[{\"numCycle\":0, \"name\":\"AllReduce\", \"nodes\":1, \"ranks\":2}]"), "'size' is not a number"));
  CHECK(contains(error_in("[{\"numCycle\":0,"), "not valid JSON"));
}

// github.com/aws-samples/awsome-distributed-training, micro-benchmarks/nccom-tests/slurm/README.md.
TEST_CASE("nccom-test states neither operation nor ranks, but its two bandwidths show an allreduce") {
  const std::string text =
      "    size(B)    count(elems)    type    time:avg(us)    algbw(GB/s)    busbw(GB/s)\n"
      "          8               2    fp32           63.52           0.00           0.00\n"
      "     262144           65536    fp32          791.38           0.31           0.61\n"
      "     524288          131072    fp32          343.84           1.42           2.80\n"
      "Avg bus bandwidth:      0.2346GB/s\n";
  CHECK(read(text).series.at(0).operation == Collective::allreduce);  // 2.80 / 1.42 is above 1
  CHECK(micros(read(text, {.operation = Collective::allreduce, .ranks = 64}).series.at(0), 524288) == Approx(343.84));
}

// Huawei, HCCL test, documentation of cmdline options: the command, and rows of its result.
TEST_CASE("HCCL test has its operation and ranks in the command that starts it") {
  const std::string table =
      "the minbytes is 8192, maxbytes is 67108864, iters is 20, warmup_iters is 5\n"
      "data_size(Bytes): |   avg_time(us): | alg_bandwidth(GB/s): | check_result:\n"
      "8192              |     764.55    |       0.00998        | success\n"
      "16384             |     858.80    |       0.01777        | success\n"
      "1048576           |    1778.30    |       0.54916        | failed\n"
      "4194304           |    1801.75    |       2.16803        | success\n";
  const Reading reading = read("# mpirun -n 8 ./bin/all_reduce_test -b 8K -e 64M -f 2 -d fp32 -o sum -p 8\n" + table);
  REQUIRE(reading.series.size() == 1);
  CHECK(reading.series[0].operation == Collective::allreduce);
  CHECK(reading.series[0].ranks == 8);
  CHECK(micros(reading.series[0], 16384) == Approx(858.80));
  CHECK(reading.series[0].rows.size() == 3);
  CHECK(
      contains(error_in(table, {.operation = Collective::allgather, .ranks = 8}), "are not known to be those of one rank"));
}

TEST_CASE("each table of HCCL test belongs to the command before it") {
  const std::string table =
      "data_size(Bytes): |   avg_time(us): | alg_bandwidth(GB/s): | check_result:\n"
      "8192              |     764.55    |       0.01071        | success\n"
      "1048576           |    1778.30    |       0.58965        | success\n";
  const std::string sums = "mpirun -n 8 ./bin/all_reduce_test -p 8\n", copies = "mpirun -n 4 ./bin/broadcast_test -p 4\n";
  const Reading both = read(sums + table + copies + table);
  REQUIRE(both.series.size() == 2);
  CHECK(both.series[0].operation == Collective::allreduce);
  CHECK(both.series[0].ranks == 8);
  CHECK(both.series[1].operation == Collective::broadcast);
  CHECK(both.series[1].ranks == 4);
  CHECK(contains(error_in(sums + copies + table), "several programs of HCCL test are started before this table"));
  const Reading chosen = read(sums + copies + table, {.operation = Collective::broadcast});
  REQUIRE(chosen.series.size() == 1);
  CHECK(chosen.series[0].operation == Collective::broadcast);
  CHECK(chosen.series[0].ranks == 4);
}

// github.com/aistabci/abci2.0benchmark, pt2pt/inter_anode: pairs of A100 of two nodes.
TEST_CASE("one pair measures two ranks, and several pairs measure contention") {
  const auto table = [](int pairs, double small, double large) {
    return fmt::format(
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE "
        "(D)\n"
        "# [ pairs: {} ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n"
        "1  {}  3061887.44\n4194304  {}  3655.92\n",
        pairs, small, large);
  };
  Reading reading = read(table(1, 3.06, 15334.04) + table(8, 22.18, 38952.39), {.nodes = 2});
  REQUIRE(reading.series.size() == 2);
  CHECK(reading.series[0].window == 64);
  CHECK(micros(reading.series[0], 4194304) == Approx(4194304 / 15334.04));
  CHECK(reading.series[1].pairs == 8);
  const std::vector<PairContention> pairs = take_pair_contention(reading.series, reading.warnings);
  CHECK(reading.series.size() == 1);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].together.value() == Approx(38952.39e6));
  REQUIRE(pairs[0].slowdown);
  CHECK(*pairs[0].slowdown == Approx(8 * 15334.04 / 38952.39));
  const std::string latency = "# OSU MPI Multi Latency Test v5.7\n# Size          Latency (us)\n0  2.12\n1  3.29\n2  3.38\n";
  const Reading alone = read(latency, {.nodes = 2});
  CHECK(micros(alone.series.at(0), 1) == Approx(3.29));
  CHECK(alone.series.at(0).pairs == 1);
  CHECK(warns(alone, "one pair is assumed"));
  CHECK(read(latency, {.ranks = 8, .nodes = 2}).series.at(0).pairs == 4);
  CHECK(contains(error_in(latency, {.ranks = 3}), "pairs need an even number of ranks"));
}

// Public logs of Spack's sweeps: osu_iallreduce 5.6.3.
TEST_CASE("a non-blocking collective is timed without its computation") {
  const Reading reading = read(
      "# OSU MPI Non-blocking Allreduce Latency Test v5.6.3\n# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
      "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
      "4                       9.27              5.04              4.10              0.00\n"
      "8                       9.33              5.08              4.21              0.00\n",
      {.ranks = 36, .nodes = 1});
  REQUIRE(reading.series.size() == 1);
  CHECK(reading.series[0].operation == Collective::allreduce);
  CHECK(micros(reading.series[0], 8) == Approx(4.21));
}

// The bandwidths of this excerpt of p2pBandwidthLatencyTest are those of github.com/aistabci/abci2.0benchmark,
// pt2pt/intra_anode; the form of nvbandwidth's matrices is that of github.com/NVIDIA/nvbandwidth, README.md.
TEST_CASE("matrices of one size give bandwidths between GPUs") {
  const Reading copies = read(
      "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, A100-SXM4-40GB, pciBusID: 27\n"
      "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 1290.20  15.43 \n     1  15.32 "
      "1305.23 \n"
      "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1 \n     0 1290.20 270.43 \n"
      "     1 272.32 1305.23 \nBidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 1 2 \n     "
      "1 3 4 \n");
  REQUIRE(copies.series.size() == 1);
  CHECK(copies.series[0].level == NetworkLevel::node);
  CHECK(copies.series[0].rows.size() == 2);
  CHECK(micros(copies.series[0], 160e6) == Approx(160e6 / 270.43e3));
  const Reading gpus = read(
      "nvbandwidth Version: v0.6\nRunning device_to_device_memcpy_read_ce.\n"
      "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A    276.07\n 1    276.36     "
      "  N/A\n\n"
      "SUM device_to_device_memcpy_read_ce 552.43\nRunning device_to_device_bidirectional_memcpy_read_ce.\n"
      "memcpy CE GPU(row) <-> GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A    1.0\n 1    1.0       "
      "N/A\n");
  REQUIRE(gpus.series.size() == 1);
  CHECK(gpus.series[0].rows.size() == 2);
  CHECK(warns(gpus, "default of 512 MiB"));
  const std::vector<ExchangeFit> fits = fit_exchanges(gpus.series);
  REQUIRE(fits.size() == 1);
  REQUIRE(fits[0].refusal.empty());
  CHECK(1 / fits[0].ranges.at(0).beta->value.value() == Approx(276.2e9).epsilon(1e-3));
  CHECK_FALSE(fits[0].ranges.at(0).alpha);
  // github.com/NVIDIA/nvbandwidth, README.md shows a matrix without the title.
  CHECK(read("memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n          0         1\n0      0.00    276.07\n"
             "1    276.19      0.00\n")
            .series.at(0)
            .rows.size() == 2);
  CHECK(contains(error_in("nvbandwidth Version: v0.6\nRunning host_to_device_memcpy_ce.\n"
                          "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0    369.36\n"),
                 "this output has no bandwidths between two GPUs"));
}

// The form is that of mpiGraph.c of github.com/LLNL/mpiGraph, which counts MiB.
TEST_CASE("mpiGraph's matrix has bandwidths between hosts") {
  const auto graph = [](const std::string& first, const std::string& second) {
    const std::string names = first + ":0\t" + second + ":1\tc:2\t";
    return "START mpiGraph v1.6\nMsgSize\t1048576\nTimes\t10\nWindow\t50\nProcs\t3\n\n1 of 3 (33.3%)\nSend "
           "max\t12000.0\n\nSend\t" +
           names + "\n" + first + ":0 to\t0.000\t10000.000\t8000.000\t\n" + second + ":1 to\t10000.0\t0.000\t8000.0\t\n" +
           "c:2 to\t8000.0\t8000.0\t0.000\t\n\nRecv max\t1.0\nRecv\t" + names + "\n" + first +
           ":0 from\t0.000\t1.0\t1.0\t\nEND mpiGraph\n";
  };
  const Reading apart = read(graph("a", "b"));
  REQUIRE(apart.series.size() == 1);
  CHECK(apart.series[0].pairs == 1);
  CHECK(apart.series[0].window == 50);
  CHECK(apart.series[0].rows.size() == 6);
  // 1 MiB at 10,000 MiB/s
  CHECK(micros(apart.series[0], 1 << 20) == Approx(100));
  const Reading together = read(graph("a", "a"));
  REQUIRE(together.series.size() == 2);
  CHECK(together.series[0].nodes == 1);
  CHECK(together.series[0].rows.size() == 2);
  CHECK(together.series[1].pairs == 2);
  CHECK(contains(error_in("START mpiGraph v1.6\nMsgSize\t1048576\n"), "no 'MsgSize', 'Window' and matrix 'Send'"));
}

// The form is that of github.com/microsoft/superbenchmark, tests/data/gpcnet_network_load.log.
TEST_CASE("GPCNeT's bandwidths alone and under load give the congestion") {
  const std::string path = (std::filesystem::temp_directory_path() / "ddl-gpcnet-test.txt").string();
  const auto table = [](const std::string& title, const std::string& average, const std::string& worst) {
    return "|   " + title + "   |\n+---+\n|  Name |  Min |  Max |  Avg |  Avg(Worst) |  99% |  99.9% |  Units |\n" +
           "| RR Two-sided BW+Sync (131072 B) | 1.0 | 2.0 | " + average + " | 3.0 | " + worst + " | 4.0 | MiB/s/rank |\n";
  };
  const std::string head = "NetworkLoad Tests v1.3\n  Test with 160 MPI ranks (10 nodes)\n";
  std::ofstream(path) << head + table("Isolated Network Tests", "1200.0", "1100.0") +
                             table("Network Tests running with Congestion Tests (    RR Two-sided Lat Network Test)", "1.0",
                                   "1.0") +
                             table("Network Tests running with Congestion Tests (RR Two-sided BW+Sync Network Test)",
                                   "800.0", "300.0");
  const auto found = load_gpcnet_congestion(path);
  REQUIRE(found);
  CHECK(found->nodes == 10);
  CHECK(found->median == Approx(1.5));
  CHECK(found->median * std::pow(found->spread, 2.326) == Approx(4));
  std::ofstream(path) << head + table("Isolated Network Tests", "1200.0", "1100.0");
  CHECK(contains(error_of([&] { (void)load_gpcnet_congestion(path); }),
                 "lacks bandwidths of the idle and the loaded network"));
  std::ofstream(path) << "# OSU MPI Latency Test v7.4\n";
  CHECK_FALSE(load_gpcnet_congestion(path));
  std::filesystem::remove(path);
}

TEST_CASE("an output that is not used is named as what it is") {
  CHECK(contains(error_in("RocmBandwidthTest Version: 2.6.0\n"), "the output of rocm-bandwidth-test is not used: "));
  CHECK(contains(error_in("Network Tests v1.3\n| Name | Avg |\n"), "GPCNeT's network_test"));
  CHECK(contains(error_in("one line\n size  Latency\n"), "f.txt:2:1: no reader supports this format of a table"));
}

}  // namespace benchmark_formats_tests
