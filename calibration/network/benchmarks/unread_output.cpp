#include <array>
#include <string_view>

#include <fmt/format.h>

#include "calibration/network/benchmarks/readers.hpp"

namespace ddl {
namespace {

constexpr std::string_view one_size = "the benchmark measures one message size, and α and β need at least three";

/// A tool whose output is recognized by a part of a line, and why it is not used.
struct UnreadTool {
  std::string_view mark, name, reason;
};
constexpr std::array unread_tools{
    UnreadTool{"[CUDA Bandwidth Test]", "bandwidthTest (CUDA samples)", one_size},
    UnreadTool{"RocmBandwidthTest", "rocm-bandwidth-test", one_size},
    UnreadTool{"TransferBench v", "TransferBench", one_size},
    UnreadTool{"Network Tests v", "GPCNeT's network_test",
               "the benchmark measures one message size of each pattern; network_load_test gives the congestion"},
    UnreadTool{"iperf", "iperf", "the benchmark measures TCP streams, not messages"},
    UnreadTool{"sockperf:", "sockperf", "the benchmark measures sockets, not messages between ranks"},
    UnreadTool{"# UCX ", "ucx_perftest", "the format is unknown"},
    UnreadTool{"| overhead (usec)", "ucx_perftest", "the format is unknown"},
    UnreadTool{"bytes   #sent   #ack", "a test of libfabric", "the format is unknown"},
    UnreadTool{"HCCL demo", "hccl_demo", "the format is unknown"},
    UnreadTool{"STREAM version", "STREAM", "the benchmark measures host memory, not a network"},
};

/// Whether a line names columns as benchmarks of exchanges do.
bool names_columns(std::string_view line) {
  for (const std::string_view word : {"algbw", "busbw", "Latency", "Bandwidth", "t_avg", "usec"}) {
    if (line.find(word) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Error unread_output(const BenchmarkText& text) {
  const std::string hint =
      "calibrate reads nccl-tests, rccl-tests, OSU micro-benchmarks, Intel MPI Benchmarks, perftest, nccom-test, "
      "HCCL test, nvbandwidth, mpiGraph, GPCNeT and all_reduce_bench.py, with the lines that name their columns";
  for (const BenchmarkLine& line : text.lines()) {
    for (const UnreadTool& tool : unread_tools) {
      if (line.text.find(tool.mark) == std::string_view::npos) continue;
      return text.error(line.offset, fmt::format("the output of {} is not used: {}", tool.name, tool.reason), hint);
    }
  }
  for (const BenchmarkLine& line : text.lines()) {
    if (names_columns(line.text)) return text.error(line.offset, "no reader supports this format of a table", hint);
  }
  return text.error(0, "this is not the output of a benchmark that calibrate reads", hint);
}

}  // namespace ddl
