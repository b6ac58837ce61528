#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/network/benchmarks/benchmark_formats.hpp"
#include "core/source_text.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace exchange_file_tests {

using namespace ddl;

namespace {

struct Reading {
  std::vector<ExchangeSeries> series;
  std::vector<std::string> warnings;
};

Reading read(const std::string& text, const AskedFacts& asked = {}) {
  Reading reading;
  reading.series = parse_exchanges(text, "f.txt", asked, reading.warnings);
  return reading;
}

Reading load(const std::string& name, const AskedFacts& asked = {}) {
  Reading reading;
  reading.series = load_exchanges(std::string(COMM_DATA "/") + name, asked, reading.warnings);
  return reading;
}

std::string error_in(const std::string& text, const AskedFacts& asked = {}) {
  return error_of([&] { (void)read(text, asked); });
}

AskedFacts of_file(const ExchangeFacts& facts) { return {facts, {}}; }
AskedFacts otherwise(const ExchangeFacts& facts) { return {{}, facts}; }

bool warns(const Reading& reading, const std::string& part) {
  return std::any_of(reading.warnings.begin(), reading.warnings.end(),
                     [&](const std::string& warning) { return warning.find(part) != std::string::npos; });
}

const MeasuredExchange& row_of(const ExchangeSeries& series, double bytes, bool in_place = false) {
  const auto found = std::find_if(series.rows.begin(), series.rows.end(), [&](const MeasuredExchange& row) {
    return row.message.value() == bytes && row.in_place == in_place;
  });
  REQUIRE(found != series.rows.end());
  return *found;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string nccl_header =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string nccl_row =
    "     1048576        262144     float     sum      -1    100.0   10.49   10.49      0    110.0    9.53    9.53      0\n";

}  // namespace

// ---- nccl-tests as text ----

TEST_CASE("the output of nccl-tests 2.18 states operation, ranks, nodes and device") {
  const Reading reading = load("nccl-2.18-all_reduce-2n2g.txt");
  REQUIRE(reading.series.size() == 1);
  const ExchangeSeries& series = reading.series[0];
  CHECK(series.operation == Collective::allreduce);
  CHECK(series.pattern == ExchangePattern::collective);
  CHECK(series.ranks == 2);
  CHECK(series.nodes == 2);
  CHECK(series.level == NetworkLevel::between_nodes);
  CHECK(series.device == "NVIDIA GH200 120GB");
  CHECK(series.tool == "nccl-tests 2.18.2");
  REQUIRE(series.rows.size() == 16);
  CHECK(row_of(series, 1048576).time.value() == Approx(339.61e-6));
  CHECK(row_of(series, 1048576, true).time.value() == Approx(335.85e-6));
  CHECK(row_of(series, 134217728).line == 20);
  CHECK(reading.warnings.empty());
}

TEST_CASE("an older nccl-tests has neither root nor group, and ranks follow from the two bandwidths") {
  const Reading reading =
      load("nccl-2.0-all_reduce-no-ranks.txt", otherwise({.operation = Collective::allreduce, .nodes = 2}));
  REQUIRE(reading.series.size() == 1);
  CHECK(reading.series[0].ranks == 16);  // 2 * 15/16 = 1.875
  CHECK(reading.series[0].level == NetworkLevel::between_nodes);
  CHECK(warns(reading, "the two bandwidths match 16 ranks"));
  CHECK(row_of(reading.series[0], 8).time.value() == Approx(2193.5e-6));
  CHECK(row_of(reading.series[0], 8, true).time.value() == Approx(132.2e-6));
}

TEST_CASE("the size column of nccl-tests counts all parts, and rows of no bytes are left out") {
  const Reading reading = load("nccl-2.13-alltoall-2n8g.txt", otherwise({.operation = Collective::all_to_all}));
  const ExchangeSeries& series = reading.series.at(0);
  CHECK(series.ranks == 8);
  CHECK(series.nodes == 2);
  // There are 29 sizes, of which 4, 8 and 16 bytes are less than one element for each of 8 ranks.
  CHECK(series.rows.size() == 2 * 26);
  CHECK(warns(reading, "6 rows without bytes"));
  CHECK(row_of(series, 32, true).time.value() == Approx(85.50e-6));
}

TEST_CASE("a rank list truncated to one rank is not a run of one rank") {
  const std::string name = "nccl-2.13-all_gather-one-rank-listed.txt";
  const Reading gather = load(name, otherwise({.operation = Collective::allgather}));
  CHECK(gather.series.at(0).ranks == 1024);  // size divided by count and by four bytes
  CHECK_FALSE(gather.series.at(0).nodes);
  CHECK_FALSE(gather.series.at(0).level);
  CHECK(warns(gather, "lists only 1 of 1024 ranks"));
  CHECK(warns(gather, "the level is null"));
  CHECK(contains(error_of([&] { (void)load(name, otherwise({.operation = Collective::allreduce})); }),
                 "these are not times of allreduce"));
}

TEST_CASE("a table without header shows an allreduce by its two bandwidths, and warns about unknown facts") {
  const std::string name = "nccl-table-alone.txt";
  const Reading alone = load(name);
  CHECK(alone.series.at(0).operation == Collective::allreduce);
  CHECK(alone.series.at(0).ranks == 8);
  CHECK(warns(alone, "the operation is missing: the columns match allreduce only"));
  CHECK(warns(alone, "the level is null"));
  const Reading reading = load(name, of_file({.operation = Collective::allreduce, .ranks = 8, .nodes = 2}));
  CHECK(reading.series.at(0).level == NetworkLevel::between_nodes);
  CHECK(reading.warnings.empty());
  CHECK(contains(error_of([&] { (void)load(name, of_file({.operation = Collective::allreduce, .ranks = 16})); }),
                 "16 ranks do not match the two bandwidths of these rows"));
}

TEST_CASE("facts of the file override options for all files") {
  const Reading reading = load("nccl-2.18-all_reduce-2n2g.txt", otherwise({.ranks = 64, .nodes = 1}));
  CHECK(reading.series.at(0).ranks == 2);
  CHECK(reading.series.at(0).nodes == 2);
  CHECK(warns(reading, "the file has 2 ranks, which is used instead of 64 ranks"));
}

TEST_CASE("two benchmark runs in one file are two series, each with its own ranks") {
  const std::string run =
      "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor)\n"
      "#   Rank  0 Pid  1 on a device  0 [0x07] Tesla V100\n#   Rank  1 Pid  2 on a device  1 [0x08] Tesla V100\n";
  const std::string second =
      "# Collective test starting: sendrecv_perf\n#  Rank  0 Group  0 Pid 1 on a device 0 [0x07] X Y\n"
      "#  Rank  1 Group  0 Pid 1 on b device 0 [0x07] X Y\n";
  const Reading reading = read("$ ./build/all_reduce_perf -b 1M\n" + run + nccl_header + nccl_row +
                               "# Avg bus bandwidth : 1\n" + second + nccl_header + nccl_row);
  REQUIRE(reading.series.size() == 2);
  CHECK(reading.series[0].operation == Collective::allreduce);
  CHECK(reading.series[0].level == NetworkLevel::node);
  CHECK(reading.series[0].device == "Tesla V100");
  CHECK(reading.series[1].operation == Collective::point_to_point);
  CHECK(reading.series[1].pattern == ExchangePattern::both_ways);
  CHECK(reading.series[1].level == NetworkLevel::between_nodes);
  CHECK(reading.series[1].device == "X Y");
}

TEST_CASE("labels of launchers, log lines and Windows line ends are skipped") {
  const AskedFacts asked = of_file({.operation = Collective::allreduce, .ranks = 2, .nodes = 2});
  std::string text = nccl_header + "host:1:2 [0] NCCL INFO comm 0x5 rank 0\n" + nccl_row;
  CHECK(read(text, asked).series.at(0).rows.size() == 2);
  std::string labelled, tagged, windows;
  for (const char c : text) {
    if (labelled.empty() || labelled.back() == '\n') labelled += "0: ", tagged += "[1,0]<stdout>:";
    labelled += c;
    tagged += c;
    if (c == '\n') windows += '\r';
    windows += c;
  }
  CHECK(read(labelled, asked).series.at(0).rows.size() == 2);
  CHECK(read(tagged, asked).series.at(0).rows.size() == 2);
  CHECK(read(windows, asked).series.at(0).rows.size() == 2);
}

TEST_CASE("times per iteration give a spread, and a date after a row is ignored") {
  const std::string text =
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% timestamp\n# (B) (elements) (us) "
      "(GB/s)\n"
      "1048576 262144 float sum -1 100.0 10.49 10.49 0 90 130 120 5.0 2026-01-02 03:04:05\n";
  const Reading reading = read(text, of_file({.operation = Collective::allreduce, .ranks = 2, .nodes = 1}));
  REQUIRE(reading.series.at(0).rows.at(0).spread);
  CHECK(reading.series[0].rows[0].spread->value() == Approx(5e-6));
}

TEST_CASE("errors in the text of nccl-tests state their position") {
  const AskedFacts asked = of_file({.operation = Collective::allreduce, .ranks = 2, .nodes = 1});
  const auto error = [&](const std::string& text) { return error_in(text, asked); };
  CHECK(contains(error(nccl_header), "f.txt:1:1: no rows follow this header"));
  CHECK(contains(error(nccl_header + "  1048576  262144  float sum -1 339.6"),
                 "f.txt:3:38: this row has 6 cells, but the table has 13"));
  CHECK(contains(error(nccl_header + nccl_row + nccl_row.substr(0, nccl_row.size() - 1) + " 7\n"), "this row has 14 cells"));
  CHECK(contains(error(nccl_header + "1048576 262144 float sum -1 1e999 1 1 0 1 1 1 0\n"),
                 "f.txt:3:29: '1e999' is not a valid time"));
  CHECK(contains(error(nccl_header + "1048576 262144 float sum -1 -5 1 1 0 1 1 1 0\n"),
                 "'-5' is not a valid time in microseconds"));
  CHECK(contains(error("# size count time\n1048576 262144 100\n"), "not followed by a line of units"));
  CHECK(contains(error("# nThread 1 nGpus 1 minBytes 8 maxBytes 8388608 step: 2(factor)\n" + nccl_header + nccl_row),
                 "f.txt:4:1: the table ends with this row, although the run should reach 8388608 bytes"));
  CHECK(contains(error("# size count type redop root cputime algbw\n# (B) (us)\n"), "these are CPU times"));
  CHECK(contains(error("# Collective test starting: gather_perf\n" + nccl_header + nccl_row), "no plan uses"));
  CHECK(
      contains(error("#  Rank  0 Group  0 Pid 1 on a device 0 [0x07] X\n#  Rank  1 Group  1 Pid 1 on a device 1 [0x07] X\n" +
                     nccl_header + nccl_row),
               "2 groups ran concurrently"));
  // The columns are right-aligned, so a shorter last line was truncated within a number.
  const std::string short_header = "# size count type redop root time algbw busbw\n# (B) (elements) (us) (GB/s) (GB/s)\n";
  const std::string short_row = "     1048576        262144     float     sum      -1    100.0   10.49   10.49\n";
  CHECK(contains(error(short_header + short_row + short_row.substr(0, short_row.size() - 2)),
                 "the file ends inside this row"));
  // A file that only lacks the last line break is complete.
  CHECK(error(nccl_header + nccl_row + nccl_row.substr(0, nccl_row.size() - 1)) == "no error");
}

TEST_CASE("the name of a file may state its operation") {
  CHECK(operation_named_by("all_gather_perf_16.txt") == Collective::allgather);
  CHECK(operation_named_by("runs/alltoall/AllReduce-2n8g.out") == Collective::allreduce);
  CHECK(operation_named_by("nccl_reduce_scatter_a100_1n8g.txt") == Collective::reduce_scatter);
  CHECK(operation_named_by("all-to-all.log") == Collective::all_to_all);
  CHECK(operation_named_by("reduce_perf.txt") == Collective::reduce);
  CHECK(operation_named_by("reduce.txt") == Collective::reduce);
  CHECK_FALSE(operation_named_by("reduce-noise.txt"));
  CHECK_FALSE(operation_named_by("allreduce-or-allgather.txt"));
  CHECK_FALSE(operation_named_by("out.allreduce"));
  CHECK_FALSE(operation_named_by(""));
  CHECK(operation_named_by("allreduce/job02.sh.7194532.nccl") == Collective::allreduce);
  CHECK(operation_named_by("bcast/allreduce/inter/job.out") == Collective::allreduce);
}

TEST_CASE("the file name gives the operation if neither the file nor the user does, and the sizes agree") {
  const AskedFacts by_name{.by_name = Collective::allreduce};
  const Reading reading = read(nccl_header + nccl_row, by_name);
  CHECK(reading.series.at(0).operation == Collective::allreduce);
  CHECK(warns(reading, "the operation is missing: allreduce is taken from the file's name"));
  const Reading told =
      read(nccl_header + nccl_row, {.otherwise = {.operation = Collective::reduce}, .by_name = Collective::allreduce});
  CHECK(told.series.at(0).operation == Collective::reduce);
  CHECK_FALSE(warns(told, "is taken from the file's name"));
  CHECK(contains(error_in(nccl_header + nccl_row, {.by_name = Collective::allgather}), "the measured operation is missing"));
}

// Columns of nccl-tests 2.13: a rank of a reduce-scatter sends a part; broadcast and reduce have a root.
TEST_CASE("an operation that alone matches the columns is taken from them") {
  const auto table = [&](const std::string& row) { return read(nccl_header + row + " 100 10 5 0 100 10 5 0\n", {}); };
  CHECK(table("1048576 131072 float sum -1").series.at(0).operation == Collective::reduce_scatter);
  CHECK(table("1048576 262144 float sum 0").series.at(0).operation == Collective::reduce);
  CHECK(table("1048576 262144 float none 0").series.at(0).operation == Collective::broadcast);
  // An allgather and an all-to-all have the same columns, and so have an allreduce of two ranks and messages in a ring.
  CHECK(contains(error_in(nccl_header + "1048576 131072 float none -1 100 10 5 0 100 10 5 0\n", {}),
                 "such columns match allgather and all-to-all"));
  CHECK(contains(error_in(nccl_header + "1048576 262144 float sum -1 100 10 10 0 100 10 10 0\n", {}),
                 "the measured operation is missing"));
}

// github.com/coreweave/nccl-tests, README.md: the list of 1,440 ranks without its beginning.
TEST_CASE("the last rank of a list without its beginning gives the number of ranks if the bandwidths match") {
  const Reading reading = read("#  Rank 1439 Group  0 Pid  21082 on host-073 device  3 [0x01] NVIDIA GB200\n" + nccl_header +
                               "17179869184 4294967296 float sum -1 84625 203.01 405.74 0 84828 202.53 404.77 0\n");
  CHECK(reading.series.at(0).ranks == 1440);
  CHECK(warns(reading, "lists ranks up to 1439"));
  CHECK_FALSE(reading.series.at(0).nodes);
}

TEST_CASE("a rank above the maximum does not give the number of ranks") {
  const Reading reading =
      read("#  Rank 2147483647 Group  0 Pid  21082 on host-073 device  3 [0x01] NVIDIA GB200\n" + nccl_header +
           "17179869184 4294967296 float sum -1 84625 203.01 405.74 0 84828 202.53 404.77 0\n");
  CHECK_FALSE(reading.series.at(0).ranks);
  CHECK(warns(reading, "the number of ranks is missing"));
}

// The commands have the forms of github.com/eth-cscs/cscs-docs, docs/software/communication.
TEST_CASE("ranks and nodes follow from the command that started the benchmark") {
  const std::string rows =
      "# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n# Size       Avg Latency(us)\n1 12.46\n";
  const auto started = [&](const std::string& command) { return read(command + "\n" + rows, {}).series.at(0); };
  const ExchangeSeries by_srun = started("$ srun -N2 --ntasks-per-node=4 --mpi=pmix ./collective/osu_alltoall");
  CHECK(by_srun.ranks == 8);
  CHECK(by_srun.nodes == 2);
  CHECK(by_srun.level == NetworkLevel::between_nodes);
  CHECK(started("srun -n 8 --nodes 2 osu_alltoall").nodes == 2);
  CHECK(started("mpirun -np 16 \\\n  --map-by ppr:8:node \\\n  /opt/osu_alltoall -m 1").nodes == 2);
  CHECK(started("mpiexec -n 16 -ppn 4 osu_alltoall").nodes == 4);
  CHECK(started("mpirun -np 4 --host a:2,b:2 osu_alltoall").nodes == 2);
  CHECK_FALSE(started("mpirun -np 4 osu_alltoall").nodes);
  // A fact that two commands contradict is unknown, and what the user gives comes first.
  CHECK(contains(error_in("srun -n 8 osu_alltoall\nsrun -n 4 osu_alltoall\n" + rows, {}), "number of ranks is missing"));
  CHECK(read("srun -n 8 osu_alltoall\n" + rows, otherwise({.ranks = 4})).series.at(0).ranks == 4);
  // Commands of other programs do not matter.
  CHECK(started("srun -n 8 osu_alltoall\nsrun -n 2 osu_bw").ranks == 8);
  CHECK(contains(error_in("srun -n 8 -N 2 osu_allreduce\n" + rows, {}), "number of ranks is missing"));
  // A process of nccl-tests has a rank on each of its GPUs.
  const std::string command = "srun -N2 --ntasks-per-node=1 ./build/all_reduce_perf -b 1M -e 1M -g 8\n";
  const ExchangeSeries nccl =
      read(command + nccl_header + "1048576 262144 float sum -1 100 10 18.75 0 100 10 18.75 0\n", {}).series.at(0);
  CHECK(nccl.ranks == 16);
  CHECK(nccl.nodes == 2);
}

// ---- torch.distributed by all_reduce_bench.py ----

// The source is github.com/stas00/ml-engineering, network/benchmarks/README.md: four nodes of eight B200.
TEST_CASE("all_reduce_bench.py states operation and ranks above its table, and times follow from bandwidths") {
  const Reading reading = load("torch-all_reduce-4n8g.txt", of_file({.nodes = 4}));
  REQUIRE(reading.series.size() == 1);
  const ExchangeSeries& series = reading.series[0];
  CHECK(series.operation == Collective::allreduce);
  CHECK(series.ranks == 32);
  CHECK(series.nodes == 4);
  CHECK(series.tool == "PyTorch");
  REQUIRE(series.rows.size() == 20);
  // The message has 16 GiB, and the bandwidth is 194.43 GB/s.
  CHECK(row_of(series, 0x1p34, true).time.value() == Approx(0x1p34 / 194.43e9));
  CHECK(row_of(series, 0x1p34, true).line == 24);
  CHECK(reading.warnings.empty());
}

// The source is network/benchmarks/results/all-reduce-8xH200.md in github.com/stas00/ml-engineering.
TEST_CASE("operation and ranks of a table of all_reduce_bench.py alone follow from the two bandwidths") {
  CHECK(warns(load("torch-table-alone.txt"), "the columns match allreduce only"));
  const Reading reading =
      load("torch-table-alone.txt", otherwise({.operation = Collective::allreduce, .level = NetworkLevel::node}));
  CHECK(reading.series.at(0).ranks == 8);  // 482.26 / 275.58 = 1.75 = 2 * 7/8
  CHECK(warns(reading, "the two bandwidths match 8 ranks"));
}

namespace {

const std::string torch_heading = "The average bandwidth of all_reduce over 4 ranks (5 warmups / 20 trials):\n\n";
const std::string torch_columns = "| payload |    busbw   |    algbw   |\n| ------: | ---------: | ---------: |\n";

}  // namespace

TEST_CASE("all_reduce_bench.py names the software and the device above its table") {
  const Reading reading = read(
      "Environment:\n- software: torch=2.9.1+cu130, cuda=13.0, nccl=(2, 27, 7)\n"
      "- hardware: _CudaDeviceProperties(name='NVIDIA H200', major=9, minor=0)\n\n" +
      torch_heading + torch_columns + "|    1MiB |  15.00GBps |  10.00GBps |\nLegend: 1KiB = 2**10 Bytes\n");
  CHECK(reading.series.at(0).tool == "PyTorch 2.9.1+cu130, NCCL 2.27.7");
  CHECK(reading.series.at(0).device == "NVIDIA H200");
  CHECK(reading.series.at(0).ranks == 4);
}

TEST_CASE("torchrun may put a label before each line") {
  const Reading reading = read(
      "[default0]:The average bandwidth of all_reduce over 4 ranks (5 warmups / 20 trials):\n"
      "[default0]:| payload |    busbw   |    algbw   |\n"
      "[default0]:|    1MiB |  15.00GBps |  10.00GBps |\n");
  CHECK(reading.series.at(0).rows.size() == 1);
}

TEST_CASE("several bandwidths of one payload are repetitions of a measurement") {
  const Reading reading = read(
      "The 0.5GiB payload bandwidth of all_reduce over 4 ranks (5 warmups / 20 trials):\n\n"
      "|    busbw   |    algbw   |\n| ---------: | ---------: |\n"
      "| 150.00GBps | 100.00GBps |\n| 135.00GBps |  90.00GBps |\n");
  REQUIRE(reading.series.at(0).rows.size() == 2);
  CHECK(reading.series[0].rows[0].message == Bytes(0x1p29));
  CHECK(reading.series[0].rows[1].time.value() == Approx(0x1p29 / 90e9));
}

TEST_CASE("torch-dist-bench.py has a table for each collective, and latencies for small bandwidths") {
  const std::string columns =
      "| payload |    busbw   |    algbw   | latency median |    p99    |    mean   | calls |\n"
      "| ------: | ---------: | ---------: | -------------: | --------: | --------: | ----: |\n";
  const auto heading = [](const std::string& name) {
    return "The average bandwidth and the per-call latency of " + name + " over 4 ranks (5 warmups):\n\n";
  };
  const Reading reading =
      read(heading("all_gather") + columns +
           "|     64B |            |            |         12.5us |    20.0us |    13.0us |  1000 |\n" +
           "|    1MiB |   7.50GBps |  10.00GBps |        110.0us |   120.0us |   111.0us |   100 |\n\n" +  //
           heading("gather") + columns +
           "|    1MiB |   7.50GBps |  10.00GBps |        110.0us |   120.0us |   111.0us |   100 |\n\n" +
           heading("batch_isend_irecv") + columns +
           "|    1MiB |  10.00GBps |  10.00GBps |        110.0us |   120.0us |   111.0us |   100 |\n");
  REQUIRE(reading.series.size() == 2);
  CHECK(reading.series[0].operation == Collective::allgather);
  CHECK(row_of(reading.series[0], 64, true).time.value() == Approx(12.5e-6));
  CHECK(row_of(reading.series[0], 1048576, true).time.value() == Approx(1048576 / 10e9));
  CHECK(reading.series[1].operation == Collective::point_to_point);
  CHECK(reading.series[1].pattern == ExchangePattern::both_ways);
  CHECK(warns(reading, "the table of 'gather', an operation that no plan uses, is ignored"));
}

TEST_CASE("bandwidths of one digit are ignored") {
  const Reading reading = read(torch_heading + torch_columns + "|   32KiB |   0.04GBps |   0.03GBps |\n" +
                               "|    1MiB |  15.00GBps |  10.00GBps |\n");
  CHECK(reading.series.at(0).rows.size() == 1);
  CHECK(warns(reading, "1 bandwidths with a rounding error above 10 % are ignored"));
  CHECK(contains(error_in(torch_heading + torch_columns + "|   32KiB |   0.00GBps |   0.00GBps |\n"),
                 "f.txt:3:1: all of these bandwidths are rounded to one digit"));
}

TEST_CASE("broken tables of all_reduce_bench.py are refused with their position") {
  CHECK(contains(error_in(torch_heading + torch_columns), "f.txt:3:1: no rows follow"));
  CHECK(contains(error_in(torch_heading + torch_columns + "|    1MiB |  15.00GBps |"), "f.txt:5:25: this row has 2 cells"));
  CHECK(contains(error_in(torch_heading + torch_columns + "|    1MiB |  15.00GBps |  10.0"),
                 "f.txt:5:27: '10.0' is not a valid bandwidth, such as 12.34GBps"));
  CHECK(contains(error_in(torch_heading + torch_columns + "|    1MB |  15.00GBps |  10.00GBps |\n"),
                 "'1MB' is not a size, such as 32KiB"));
  CHECK(contains(error_in(torch_heading + torch_columns + "|    1MiB |  15.00GBps |  10.00GBps |\n", of_file({.ranks = 8})),
                 "the file has 4 ranks, but the command has 8 ranks"));
  CHECK(contains(error_in("|    busbw   |    algbw   |\n| 150.00GBps | 100.00GBps |\n"),
                 "the message size of these bandwidths is not stated"));
  CHECK(contains(error_in("The average bandwidth of gather over 4 ranks (5 warmups):\n" + torch_columns +
                          "|    1MiB |   7.50GBps |  10.00GBps |\n"),
                 "no table of this file has an operation that plans use"));
  CHECK(contains(error_in(nccl_header + nccl_row + torch_columns, otherwise({.operation = Collective::allreduce})),
                 "no rows follow this header"));
}

// ---- NCCL Inspector ----

namespace {

/// Returns a record as the plugin writes it (github.com/NVIDIA/nccl, plugins/profiler/inspector/README.md).
std::string record(const std::string& operation, int number, int rank, int ranks, int nodes, long bytes, int microseconds,
                   const std::string& timing = "kernel_gpu") {
  return fmt::format(R"({{"header":{{"id":"0x7f8c","comm_name":"dp","rank":{},"n_ranks":{},"nnodes":{}}},)", rank, ranks,
                     nodes) +
         R"("metadata":{"inspector_output_format_version":"v4.0","git_rev":"","hostname":"n1","pid":16},)" +
         fmt::format(R"("coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":{},"coll_exec_time_us":{},)", operation,
                     number, bytes, microseconds) +
         fmt::format(R"("coll_timing_source":"{}","coll_algobw_gbs":1.5}}}})", timing) + "\n";
}

}  // namespace

TEST_CASE("the time of a collective is the time of the rank that waited least") {
  const Reading reading =
      read(record("AllReduce", 1, 0, 2, 2, 1048576, 150) + record("AllReduce", 1, 1, 2, 2, 1048576, 110) +
           record("AllReduce", 2, 1, 2, 2, 2097152, 200) + record("AllReduce", 2, 0, 2, 2, 2097152, 210));
  REQUIRE(reading.series.size() == 1);
  const ExchangeSeries& series = reading.series[0];
  CHECK(series.operation == Collective::allreduce);
  CHECK(series.ranks == 2);
  CHECK(series.nodes == 2);
  CHECK(series.tool == "NCCL Inspector");
  REQUIRE(series.rows.size() == 2);
  CHECK(row_of(series, 1048576).time.value() == Approx(110e-6));
  CHECK(row_of(series, 2097152).time.value() == Approx(200e-6));
  CHECK(reading.warnings.empty());
}

TEST_CASE("a file of one rank includes waiting, and each operation and group is a separate series") {
  const Reading reading =
      read(record("AllGather", 1, 0, 4, 1, 1000, 50) + record("ReduceScatter", 2, 0, 4, 1, 1000, 60) +
           record("AllGather", 3, 0, 8, 2, 1000, 70) + record("AllReduce", 4, 0, 1, 1, 1000, 5) +
           record("All2All", 5, 0, 8, 2, 1000, 70) + record("AllReduce", 6, 0, 8, 2, 1000, 9, "kernel_cpu") +
           R"({"header":{"rank":0,"n_ranks":8,"nnodes":2},"p2p_perf":{"p2p":"Send","p2p_exec_time_us":5}})");
  REQUIRE(reading.series.size() == 3);
  // NCCL's number of bytes is that of one rank.
  CHECK(row_of(reading.series[0], 4000).time.value() == Approx(50e-6));
  CHECK(reading.series[1].ranks == 8);
  CHECK(row_of(reading.series[1], 8000).time.value() == Approx(70e-6));
  CHECK(reading.series[2].operation == Collective::reduce_scatter);
  CHECK(warns(reading, "this file lacks records of some ranks"));
  CHECK(warns(reading, "1 collectives of a single rank are ignored"));
  CHECK(warns(reading, "collectives of 'All2All' are ignored"));
  CHECK(warns(reading, "1 host times are ignored"));
  CHECK(warns(reading, "1 sends and receives are ignored"));
}

TEST_CASE("of many repetitions, a hundred with about the same median are kept") {
  std::string text;
  for (int i = 1; i <= 1001; ++i) text += record("AllReduce", i, 0, 2, 1, 1048576, i);
  const Reading reading = read(text);
  REQUIRE(reading.series.at(0).rows.size() == 100);
  CHECK(reading.series[0].rows[49].time.value() == Approx(496e-6));  // 501 is the median of all repetitions
  CHECK(reading.series[0].rows[50].time.value() == Approx(506e-6));
}

// A fit evaluates all rows for each of some hundred ranges of sizes, which took 13 s for 20,000 rows.
TEST_CASE("a hundred rows of a size with many rows are kept, in the order of the file") {
  std::string text = "# OSU MPI Latency Test v5.3\n# Size          Latency (us)\n1 1.0\n";
  for (int i = 0; i <= 20'000; ++i) text += fmt::format("2048 {}\n", 2 + (i * 7919 % 20'001) * 1e-4);
  text += "4096 7.5\n";
  const Reading reading = read(text, of_file({.ranks = 2, .nodes = 2}));
  REQUIRE(reading.series.size() == 1);
  const std::vector<MeasuredExchange>& rows = reading.series[0].rows;
  REQUIRE(rows.size() == 102);
  CHECK(rows.front().message == Bytes(1));
  CHECK(rows.back().message == Bytes(4096));
  CHECK(std::is_sorted(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.line < b.line; }));
  std::vector<double> times;
  for (const MeasuredExchange& row : rows) {
    if (row.message == Bytes(2048)) times.push_back(row.time.value());
  }
  std::sort(times.begin(), times.end());
  // Times are evenly distributed from 2 to 4 us.
  CHECK((times[49] + times[50]) / 2 == Approx(3e-6).epsilon(1e-4));
  CHECK(times.front() == Approx(2.01e-6).epsilon(1e-3));
  CHECK(times.back() == Approx(3.99e-6).epsilon(1e-3));
}

TEST_CASE("the name of a tool from a file can be written into coefficients") {
  const std::string rows = "\n# Size          Latency (us)\n1 1.0\n";
  const AskedFacts asked = of_file({.ranks = 2, .nodes = 2});
  // The Arabic letter mark changes the direction of writing.
  CHECK(read("# OSU MPI Latency Test v5.3\xD8\x9Cx" + rows, asked).series[0].tool == "OSU micro-benchmarks 5.3\\u061Cx");
  const std::string tool = read("# OSU MPI Latency Test v5" + std::string(20'000, '3') + rows, asked).series[0].tool;
  CHECK(tool.size() == 200);
  std::string letters;
  for (int i = 0; i < 300; ++i) letters += "\xC3\xA9";
  CHECK(read("# OSU MPI Latency Test v55" + letters + rows, asked).series[0].tool.ends_with("\xC3\xA9"));
}

TEST_CASE("records of NCCL Inspector may have line breaks in them") {
  const Reading reading = read(
      "{\n  \"header\": {\n    \"id\": \"0x7f8c496ae9f661\",\n    \"rank\": 2,\n    \"n_ranks\": 8,\n    \"nnodes\": 1\n  "
      "},\n"
      "  \"coll_perf\": {\n    \"coll\": \"AllReduce\",\n    \"coll_sn\": 1407,\n    \"coll_msg_size_bytes\": 17179869184,\n"
      "    \"coll_exec_time_us\": 61974,\n    \"coll_busbw_gbs\": 485.119099\n  }\n}\n");
  CHECK(reading.series.at(0).rows.at(0).time.value() == Approx(61974e-6));
}

TEST_CASE("broken records of NCCL Inspector are refused with their position") {
  const std::string good = record("AllReduce", 1, 0, 2, 2, 1048576, 150);
  CHECK(contains(error_in(good + good.substr(0, 200)), "f.txt:2:201: not valid JSON"));
  CHECK(contains(error_in(good + "Killed\n"), "f.txt:2:1: expected a record of NCCL Inspector"));
  CHECK(contains(error_in(good + record("AllReduce", 1, 1, 2, 2, 4, 150)), "f.txt:2:1: this record has another operation"));
  CHECK(contains(error_in(record("AllReduce", 1, 0, 0, 2, 4, 150)), "no whole number 'n_ranks'"));
  CHECK(contains(error_in(record("AllReduce", 1, 0, 2, 3, 4, 150)), "'nnodes' of this record"));
  CHECK(contains(error_in(record("AllReduce", 1, 0, 2, 2, -4, 150)), "this record lacks 'coll_msg_size_bytes'"));
  CHECK(contains(error_in(R"({"coll_perf":1})"), "no whole number 'n_ranks'"));
  CHECK(contains(error_in(R"({"x":"\"coll_perf\"","coll_perf_2":{"coll_perf":2}})"), "neither 'coll_perf' nor 'p2p_perf'"));
  CHECK(
      contains(error_in(record("AllReduce", 1, 0, 2, 2, 4, 150, "collective_cpu")), "no record of this file has the time"));
  CHECK(contains(error_in(good, of_file({.ranks = 4})), "f.txt:1:1: the file has 2 ranks, but the command has 4 ranks"));
  CHECK(contains(error_in(R"({"coll_perf":)" + std::string(40, '[')), "nested deeper than 16 levels"));
}

// ---- traces of PyTorch ----

// The source is github.com/facebookresearch/HolisticTraceAnalysis, tests/data/nccl_parser_config:
// DDP on two A100 of one node, one rank.
TEST_CASE("kernels of a trace state operation, ranks, size and time") {
  const Reading reading = load("trace-2ranks.json", otherwise({.nodes = 1}));
  REQUIRE(reading.series.size() == 2);
  const ExchangeSeries& series = reading.series[0];
  CHECK(series.operation == Collective::allreduce);
  CHECK(series.ranks == 2);
  CHECK(series.nodes == 1);
  CHECK(series.device == "NVIDIA A100-PG509-200");
  CHECK(series.tool == "PyTorch trace, NCCL 2.17.1");
  CHECK(series.rows.size() == 15);
  CHECK(row_of(series, 2049000 * 4).time.value() > 0);
  CHECK(reading.series[1].operation == Collective::broadcast);
  CHECK(reading.series[1].rows.size() == 6);
  CHECK(warns(reading, "times of a trace include waiting for other ranks"));
}

namespace {

std::string kernel(const std::string& operation, int in, int out, int ranks, const std::string& listed,
                   const std::string& more = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel","ts":1,"dur":100.5,"args":{{"Collective name":"{}",)"
      R"("In msg nelems":{},"Out msg nelems":{},"Group size":{},"dtype":"BFloat16","Process Group Ranks":"{}"{}}}}})",
      operation, in, out, ranks, listed, more);
}

std::string trace(const std::string& events) {
  return R"({"distributedInfo":{"world_size":16},"traceEvents":[)" + events + "]}";
}

}  // namespace

TEST_CASE("the nodes of each group of a trace follow from its ranks and the nodes of the job") {
  const std::string inside = "[0, 1, 2, 3, 4, 5, 6, 7]", across = "[0, 8]";
  const Reading reading =
      read(trace(kernel("_allgather_base", 512, 4096, 8, inside) + "," + kernel("allreduce", 1024, 1024, 2, across) + "," +
                 kernel("_reduce_scatter_base", 1600, 100, 16, "[0, 1, 2, ...]") + "," +
                 kernel("allreduce", 1024, 1024, 4, "[0, 1, ...]")),
           otherwise({.nodes = 2}));
  REQUIRE(reading.series.size() == 4);
  CHECK(reading.series[0].operation == Collective::allreduce);
  CHECK(reading.series[0].nodes == 2);  // ranks 0 and 8, with eight ranks per node
  CHECK(reading.series[0].rows.at(0).message == Bytes(2048));
  CHECK_FALSE(reading.series[1].nodes);  // four ranks, of which two are listed
  CHECK(reading.series[2].operation == Collective::allgather);
  CHECK(reading.series[2].nodes == 1);
  CHECK(reading.series[2].rows.at(0).message == Bytes(8192));
  CHECK(reading.series[3].nodes == 2);  // all ranks of the job
  CHECK(reading.series[3].rows.at(0).message == Bytes(3200));
}

TEST_CASE("events of a trace other than exchanges of equal parts are ignored") {
  const std::string uneven = R"(,"In split size":"[1, 2]")";
  const Reading reading =
      read(trace(kernel("all_to_allv", 64, 64, 2, "[0, 1]", uneven) + "," + kernel("send", 64, 64, 2, "[0, 1]") + "," +
                 kernel("barrier", 1, 1, 2, "[0, 1]") + "," + kernel("allreduce", 64, 64, 1, "[0]") + "," +
                 kernel("all_to_allv", 64, 64, 2, "[0, 1]", R"(,"In split size":"[]")") +
                 R"(,{"ph":"X","cat":"cpu_op","name":"aten::mm"})"));
  REQUIRE(reading.series.size() == 1);
  CHECK(reading.series[0].operation == Collective::all_to_all);
  CHECK(warns(reading, "1 all-to-alls with unequal split sizes"));
  CHECK(warns(reading, "collectives of 'send' are ignored"));
  CHECK(warns(reading, "1 collectives without bytes"));
}

TEST_CASE("broken traces are refused with their position") {
  CHECK(contains(error_in(trace("")), "f.txt:1:1: this trace has no kernel of a collective"));
  CHECK(contains(error_in(trace(R"({"ph":"X","cat":"cpu_op","dur":1,"args":{"Collective name":"allreduce"}})")),
                 "has the calls of collectives, but not their time"));
  CHECK(contains(error_in(trace(kernel("allreduce", -1, 4, 2, ""))), "f.txt:1:53: this collective has no sizes"));
  CHECK(contains(error_in(trace(kernel("allreduce", 4, 4, 0, ""))), "no whole number 'Group size'"));
  CHECK(contains(error_in(trace(R"({"ph":"X","cat":"kernel","args":{"Collective name":"allreduce"}})")),
                 "a kernel without a duration 'dur'"));
  CHECK(contains(error_in(trace(kernel("allreduce", 4, 4, 2, "")).substr(0, 90)), "not valid JSON"));
  CHECK(contains(error_in(R"({"traceEvents":)" + std::string(100, '[')), "nested deeper than 64 levels"));
}

// ---- nccl-tests as JSON ----

TEST_CASE("the JSON output of nccl-tests gives the same series as the text output") {
  const Reading json = load("nccl-2.19-all_reduce-2n2g.json"), text = load("nccl-2.18-all_reduce-2n2g.txt");
  const ExchangeSeries &a = json.series.at(0), &b = text.series.at(0);
  CHECK(a.operation == b.operation);
  CHECK(a.ranks == b.ranks);
  CHECK(a.nodes == b.nodes);
  CHECK(a.level == b.level);
  CHECK(a.device == b.device);
  REQUIRE(a.rows.size() == b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    CHECK(a.rows[i].message == b.rows[i].message);
    CHECK(a.rows[i].time.value() == Approx(b.rows[i].time.value()));
    CHECK(a.rows[i].in_place == b.rows[i].in_place);
  }
  CHECK(json.warnings.empty());
}

TEST_CASE("errors in nccl-tests' JSON state their position") {
  const std::string head =
      R"({"version":2,"args":["all_reduce_perf"],"config":{"ngpus":2,"devices":[{"rank":0,"hostname":"a"}]},)";
  const std::string good =
      R"({"size":8,"count":2,"type":"float","out_of_place":{"time":5.0,"alg_bw":0.0016,"bus_bw":0.0016}})";
  const Reading reading = read(head + "\n\"results\":[" + good + "]}");
  CHECK(reading.series.at(0).ranks == 2);  // one device is listed, for a process of two devices
  CHECK(reading.series.at(0).nodes == 1);
  CHECK(contains(error_in(head + "\n\"results\":[" + good), "f.txt:2:"));
  CHECK(contains(error_in(head + "\n\"results\":[" + good), "an aborted run of nccl-tests"));
  CHECK(contains(error_in(head + "\n\"results\":[]}"), "f.txt:2:1: no results"));
  CHECK(contains(error_in(head + "\n\"results\":[{\"size\":8}]}"), "result 1 has no 'count'"));
  CHECK(contains(error_in(head + "\n\"results\":[{\"size\":8,\"count\":2,\"in_place\":{\"cpu_time\":3}}]}"),
                 "these are CPU times"));
  CHECK(contains(error_in(head + "\n\"results\":[{\"size\":8,\"count\":2,\"in_place\":{\"time\":\"nan\"}}]}"), "'time'"));
  CHECK(contains(error_in("{\"schema\": 1}"), "this JSON is not from nccl-tests"));
}

// ---- OSU ----

TEST_CASE("latency of OSU 5.3 is half a round trip between two ranks") {
  const Reading reading = load("osu-5.3-latency.txt");
  const ExchangeSeries& series = reading.series.at(0);
  CHECK(series.operation == Collective::point_to_point);
  CHECK(series.pattern == ExchangePattern::one_way);
  CHECK(series.ranks == 2);
  CHECK_FALSE(series.level);
  CHECK(series.tool == "OSU micro-benchmarks 5.3");
  CHECK(warns(reading, "the level is null"));
  CHECK(series.rows.front().message == 0_B);  // versions before 7 begin with a message of no bytes
}

TEST_CASE("a time from OSU's bandwidths is the time of one message of a window") {
  const Reading one = load("osu-7.5-bw-validation.txt", otherwise({.nodes = 2}));
  const ExchangeSeries& bw = one.series.at(0);
  CHECK(bw.pattern == ExchangePattern::one_way);
  CHECK(bw.window == 64);
  CHECK(bw.level == NetworkLevel::between_nodes);
  // The message has 4194304 B, and the bandwidth is 23989.54 MB/s, with MB = 10^6 B.
  CHECK(row_of(bw, 4194304).time.value() == Approx(4194304 / 23989.54e6));
  const Reading both = load("osu-5.3-bibw.txt", otherwise({.level = NetworkLevel::node}));
  const ExchangeSeries& bibw = both.series.at(0);
  CHECK(bibw.pattern == ExchangePattern::both_ways);
  // The bandwidth is the sum of both directions: 2 * 4194304 B at 9788.05 MB/s.
  CHECK(row_of(bibw, 4194304).time.value() == Approx(2 * 4194304 / 9788.05e6));
  const Reading slow = load("osu-7.4-bw-slow-link.txt", otherwise({.nodes = 2}));
  CHECK(warns(slow, "2 rows that round to zero"));
  CHECK(slow.series.at(0).rows.front().message == 4_B);
}

TEST_CASE("OSU's sizes count a rank's part for allgather and alltoall, and the whole vector for other operations") {
  const AskedFacts four = otherwise({.ranks = 4, .nodes = 1});
  CHECK(load("osu-7.4-alltoall-full.txt", four).series.at(0).rows.front().message == 4_B);  // 1 byte to each rank
  const Reading gather = load("osu-5.7-allgather.txt", otherwise({.ranks = 1152, .nodes = 32}));
  CHECK(row_of(gather.series.at(0), 1152).time.value() == Approx(322.65e-6));
  CHECK(load("osu-5.3-reduce_scatter.txt", four).series.at(0).rows.front().message == 4_B);
  CHECK(load("osu-7.4-bcast-full.txt", four).series.at(0).rows.front().message == 1_B);
  const ExchangeSeries reduce = load("osu-7.4-allreduce-full.txt", four).series.at(0);
  CHECK(reduce.rows.front().message == 1_B);
  CHECK(reduce.rows.front().time.value() == Approx(11.70e-6));
  CHECK(reduce.rows.front().spread->value() == Approx((22.22e-6 - 0.57e-6) / 2));
  CHECK(contains(error_of([] { (void)load("osu-5.7-allgather.txt"); }), "the number of ranks is missing"));
}

TEST_CASE("errors in OSU's text state their position") {
  const std::string head = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n";
  CHECK(contains(error_in(head), "f.txt:1:1: no rows follow this title"));
  CHECK(contains(error_in(head + "1  2.00\n2\n"), "f.txt:5:2: this row has 1 cells, but the table has 2 columns"));
  CHECK(contains(error_in(head + "1  abc\n"), "f.txt:4:4: 'abc' is not a valid number"));
  CHECK(contains(error_in("# OSU MPI Latency Test v7.4\n1  2.00\n"), "f.txt:2:1: this row is before the line '# Size ...'"));
  CHECK(contains(error_in("# OSU MPI Latency Test v7.4\n# Size   Bandwidth (MB/s)\n1  2.00\n"),
                 "expected a column of 'Latency (us)'"));
  CHECK(contains(error_in("# OSU MPI_Put Latency Test v7.4\n"), "OSU's 'MPI_Put Latency Test' is not used"));
  CHECK(contains(error_in(head + "1                       2.00\n2                       2."),
                 "f.txt:5:27: the file ends inside this row"));
  CHECK(contains(error_in(head + "1  0.00\n"), "no row of this table has a time"));
  CHECK(contains(error_of([&] { (void)read(head + "1  2.00\n", of_file({.ranks = 4})); }),
                 "the file has 2 ranks, but the command has 4 ranks"));
}

TEST_CASE("a line with only a comment sign in OSU's text is skipped") {
  const Reading reading =
      read("# OSU MPI Latency Test v7.5\n#\n# Size   Avg Latency(us)\n # \n1  2.00\n#\n", of_file({.nodes = 1}));
  CHECK(reading.series.at(0).rows.size() == 1);
}

TEST_CASE("rows that failed their validation are left out") {
  const Reading reading =
      read("# OSU MPI Latency Test v7.5\n# Size   Avg Latency(us)   Validation\n1  2.00  Pass\n2  3.00  Fail\n",
           of_file({.nodes = 1}));
  CHECK(reading.series.at(0).rows.size() == 1);
  CHECK(warns(reading, "1 rows that failed their validation"));
}

// ---- other files ----

TEST_CASE("tables made from outputs, and other files, are refused") {
  CHECK(
      contains(error_of([] { (void)load("markdown.txt"); }), "markdown.txt:1:1: no reader supports this format of a table"));
  CHECK(contains(error_of([] { (void)load("retyped.txt"); }), "retyped.txt:1:1: no reader supports this format of a table"));
  CHECK(contains(error_in("hello\n"), "f.txt:1:1: this is not the output of a benchmark"));
  CHECK(contains(error_in(" \n"), "f.txt is empty"));
  CHECK(contains(error_in("# OSU MPI Latency Test v7.4\n" + nccl_header), "no rows follow this title"));
  CHECK(contains(error_in(std::string("\0x", 2)), "f.txt:1:1"));
}

TEST_CASE("a file states the library that ran, in a line around its tables or next to its name") {
  const std::string table = "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n4  1.0\n8  1.1\n16  1.2\n";
  const auto library = [&](const std::string& text, const AskedFacts& asked = {}) {
    std::vector<std::string> warnings;
    return parse_exchanges(text, "x.txt", asked, warnings).at(0).library;
  };
  CHECK(library(table).empty());
  for (const char* line : {"mpirun (Open MPI) 4.1.4", "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
                           "module load openmpi/4.1.1", "# library: OpenMPI-4.1"}) {
    INFO(line);
    CHECK(library(std::string(line) + "\n" + table) == "openmpi-4.1");
    CHECK(library(table + line + "\n") == "openmpi-4.1");
  }
  for (const char* line : {"mpirun (Open MPI) 4.0.3", "Open MPI v5.0.1", "openmpi/4.10.2", "MPICH 4.1.4", "open mpi"}) {
    INFO(line);
    CHECK(library(std::string(line) + "\n" + table).empty());
  }
  CHECK(library("openmpi/4.1.1\nmpirun --mca coll_tuned_allreduce_algorithm 4 osu_allreduce\n" + table).empty());
  AskedFacts asked;
  asked.of_file.library = "openmpi-4.1";
  CHECK(library(table, asked) == "openmpi-4.1");
  CHECK(parse_library("openmpi-4.1") == "openmpi-4.1");
  CHECK_FALSE(parse_library("mpich"));
}

TEST_CASE("facts that contradict each other are refused") {
  const std::string text = nccl_header + nccl_row;
  CHECK(contains(error_in(text, of_file({.operation = Collective::allreduce, .ranks = 2, .nodes = 4})),
                 "4 nodes exceed the 2 ranks"));
  CHECK(contains(
      error_in(text, of_file({.operation = Collective::allreduce, .nodes = 1, .level = NetworkLevel::between_nodes})),
      "the file has level node, but the command has level between-nodes"));
  CHECK(contains(error_in(text, of_file({.operation = Collective::reduce, .ranks = 1})),
                 "a single rank does not communicate"));
  CHECK(contains(error_in(text, of_file({.operation = Collective::allgather})), "these are not times of allgather"));
}

TEST_CASE("NCCL's log states algorithm and protocol, and may interrupt rows") {
  // Log lines split the row into three pieces. Each log line begins directly after a cell of the row.
  const std::string listed = "#  Rank  0 Group  0 Pid  7 on 9node1 device  0 [0x1b] NVIDIA H100\n";
  const std::string host = "9node1:7:7 [0] NCCL INFO ";
  const std::string before_2_23 = listed + nccl_header + "     1048576        262144     float     sum      -1" + host +
                                  "1048576 Bytes -> Algo 5 proto 2 time 25.2\n" + host +
                                  "1048576 Bytes -> Algo 5 proto 2 time 25.2\n    100.0   10.49   10.49      0" + host +
                                  "1048576 Bytes -> Algo 5 proto 2 time 25.2\n    110.0    9.53    9.53      0\n";
  const ExchangeFacts allreduce{.operation = Collective::allreduce, .nodes = 2};
  const ExchangeSeries series = read(before_2_23, otherwise(allreduce)).series.at(0);
  REQUIRE(series.rows.size() == 2);
  CHECK(series.rows[0].time.value() == Approx(100e-6));
  CHECK(series.rows[1].time.value() == Approx(110e-6));
  CHECK(series.rows[1].algorithm == "NVLSTree Simple");

  // Whole lines with names precede a row. Lines of other functions and sizes do not apply to the row.
  const auto algorithm_of = [&](const std::string& log) {
    return read(nccl_header + log + nccl_row, otherwise(allreduce)).series.at(0).rows[0].algorithm;
  };
  const std::string plain = "node1:7:7 [0] NCCL INFO ";
  CHECK(algorithm_of(plain + "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..31}\n") ==
        "Ring Simple");
  CHECK(algorithm_of(plain + "AllReduce: 1048576 Bytes -> Algo NVLS_TREE proto LL128 channel{Lo..Hi}={0..31}\n") ==
        "NVLSTree LL128");
  CHECK(algorithm_of(plain + "AllGather: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..31}\n").empty());
  CHECK(algorithm_of(plain + "AllReduce: 4096 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..31}\n").empty());
  CHECK(algorithm_of(plain + "AllReduce: 1048576 Bytes -> Algo 9 proto 2 time 1\n").empty());
  CHECK(algorithm_of(plain + "Bytes -> Algo\n").empty());
  CHECK(algorithm_of(plain + "NCCL_ALGO set by environment to ring\n" + plain + "NCCL_PROTO set by environment to LL\n") ==
        "Ring LL");
  CHECK(algorithm_of(plain + "NCCL_ALGO set by environment to ^Ring\n").empty());

  CHECK(contains(error_in(listed + nccl_header + nccl_row + "     2097152        524288     float     sum      -1" + host +
                              "2097152 Bytes -> Algo 1 proto 2 time 25.2\n",
                          otherwise(allreduce)),
                 "this row does not continue after NCCL's log"));
}

TEST_CASE("NCCL's log counts one rank's part of an Allgather since 2.25, and all parts before") {
  const std::string row =
      "     1048576         65536     float    none      -1    100.0   10.49    7.86      0    110.0    9.53    7.15      "
      "0\n";
  const ExchangeFacts facts{.operation = Collective::allgather, .ranks = 4, .nodes = 2};
  const auto algorithm_of = [&](const std::string& log) {
    return read(nccl_header + "node1:7:7 [0] NCCL INFO AllGather: " + log + "\n" + row, otherwise(facts))
        .series.at(0)
        .rows[0]
        .algorithm;
  };
  CHECK(algorithm_of("262144 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..31}") == "Ring LL");
  CHECK(algorithm_of("1048576 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..31}").empty());
  CHECK(algorithm_of("1048576 Bytes -> Algo 1 proto 0 time 9.5") == "Ring LL");
}

TEST_CASE("a table of more sizes than a benchmark measures is refused before it is fitted") {
  std::string text = "# OSU MPI Latency Test v5.3\n# Size          Latency (us)\n";
  for (std::size_t i = 1; i <= most_series_rows + 1; ++i) text += std::to_string(i) + " 1.5\n";
  std::vector<std::string> warnings;
  CHECK(error_of([&] {
          static_cast<void>(parse_exchanges(text, "x.txt", {}, warnings));
        }).starts_with("x.txt: more than 50000 rows of one operation"));
}

}  // namespace exchange_file_tests
