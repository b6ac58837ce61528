#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"
#include "core/error.hpp"

// Readers of the outputs of benchmarks. Each reader has a function that recognizes its output by a line or by keys.
namespace ddl {

/// Whether a line has the column names of nccl-tests: size, count and others.
[[nodiscard]] bool is_nccl_header(const BenchmarkLine& line);

/// Reads the text output of any version of nccl-tests. Columns are found by their names, and ranks by the lines that list
/// them. Other lines, such as NCCL's own log, are skipped. Each table is a series. Throws Error that points to the broken
/// part: a row that lacks cells, a table without rows, or a table that ends before the largest size of the run.
[[nodiscard]] std::vector<ExchangeSeries> read_nccl_tests_text(const BenchmarkText& text, const AskedFacts& asked,
                                                               std::vector<std::string>& warnings);

/// Reads the file that nccl-tests writes with `-J FILE` since version 2.17: an object with `version`, `args`, `config` with
/// `devices`, `results`, `out_of_bounds` (src/util.cu of github.com/NVIDIA/nccl-tests). Times are in microseconds. Throws
/// Error that points to a broken part. A run that ended early leaves incomplete JSON.
[[nodiscard]] std::vector<ExchangeSeries> read_nccl_tests_json(std::string text, const std::string& origin,
                                                               const AskedFacts& asked, std::vector<std::string>& warnings);

// The files that rccl-tests writes with `-Z json` and `-Z csv` (src/common.cu of github.com/ROCm/rccl-tests): one record for
// each size, with operation, ranks and nodes, and times in microseconds. The JSON is a list, or one object per line.

/// Whether a text is such JSON.
[[nodiscard]] bool is_rccl_json(std::string_view text);
/// Whether a line names the columns of such CSV.
[[nodiscard]] bool is_rccl_csv_header(const BenchmarkLine& line);

/// A series for each operation and number of ranks. Throws Error that points to a broken part.
[[nodiscard]] std::vector<ExchangeSeries> read_rccl_json(std::string text, const std::string& origin,
                                                         const AskedFacts& asked, std::vector<std::string>& warnings);
[[nodiscard]] std::vector<ExchangeSeries> read_rccl_csv(const BenchmarkText& text, const AskedFacts& asked,
                                                        std::vector<std::string>& warnings);

// Reads files that NCCL's profiler plugin Inspector writes while a program runs:
// github.com/NVIDIA/nccl, plugins/profiler/inspector (previously ext-profiler/inspector). A file
// contains one JSON object for each exchange and rank.

/// Whether a JSON text is a file of NCCL Inspector, judged by its keys.
[[nodiscard]] bool is_nccl_inspector(std::string_view text);

/// Returns one series for each operation, number of ranks and number of nodes. If several ranks recorded an exchange, the
/// shortest recorded time is used, because the rank that arrived last waited least.
[[nodiscard]] std::vector<ExchangeSeries> read_nccl_inspector(std::string text, const std::string& origin,
                                                              const AskedFacts& asked, std::vector<std::string>& warnings);

/// The default window of OSU's bandwidth tests, which do not print their window (mvapich.cse.ohio-state.edu/benchmarks,
/// option -W).
inline constexpr double osu_window = 64;

/// Whether a line is the title of an OSU micro-benchmark: `# OSU MPI Latency Test v7.4`.
[[nodiscard]] bool is_osu_title(const BenchmarkLine& line);

/// Reads the output of any version of OSU micro-benchmarks: latency, bandwidth in one or both directions, allreduce,
/// allgather, reduce_scatter, bcast, alltoall and reduce. Each table is a series. There may be further columns after the
/// size and the first value. For allgather and alltoall, the size column counts the part of one rank, so the number of ranks
/// is needed. For all other operations, the size column counts the whole vector. A bandwidth is converted to the time of one
/// message of a window. A line `# ddl-oracle: ranks=4 nodes=2 window=64` before a title states facts about the next table
/// (print_osu). Throws Error that points to a broken part.
[[nodiscard]] std::vector<ExchangeSeries> read_osu_text(const BenchmarkText& text, const AskedFacts& asked,
                                                        std::vector<std::string>& warnings);

/// Whether a line is `# Benchmarking Allreduce`, with which the Intel MPI Benchmarks begin a table.
[[nodiscard]] bool is_imb_title(const BenchmarkLine& line);

/// Reads the output of the Intel MPI Benchmarks (IMB-MPI1, IMB-NBC): a series for each table. Times are averages over all
/// ranks; for non-blocking collectives, `t_pure`. Benchmarks that no plan uses, and tables of several groups at once, are
/// skipped with a warning. Sizes are those of the benchmarks' documentation, "Benchmark definitions": of one rank's part for
/// Allgather and Alltoall, of the vector for the others.
[[nodiscard]] std::vector<ExchangeSeries> read_imb_text(const BenchmarkText& text, const AskedFacts& asked,
                                                        std::vector<std::string>& warnings);

// The tables of the torch.distributed benchmarks in stas00/ml-engineering, network/benchmarks: `all_reduce_bench.py` and
// `torch-dist-bench.py`. Bandwidths are defined as in nccl-tests; 1 GBps is 10^9 bytes per second.

/// Whether a line has the column names of a table of a torch.distributed benchmark, which is in Markdown.
[[nodiscard]] bool is_torch_bench_header(const BenchmarkLine& line);

/// Returns one series per table. Tables of operations that no plan uses are skipped with a warning.
/// Bandwidths with too few digits are also skipped with a warning.
[[nodiscard]] std::vector<ExchangeSeries> read_torch_bench_tables(const BenchmarkText& text, const AskedFacts& asked,
                                                                  std::vector<std::string>& warnings);

// Reads the collectives in a trace that PyTorch's profiler (Kineto) wrote for one rank. In a trace, a collective is a kernel
// with arguments that describe the NCCL call. Sources: github.com/pytorch/pytorch,
// torch/csrc/distributed/c10d/ParamCommsUtils.hpp and github.com/pytorch/kineto, libkineto/src/output_json.cpp.

/// Whether a JSON text is a trace of PyTorch's profiler, judged by its keys.
[[nodiscard]] bool is_trace(std::string_view text);

/// Returns one series for each operation, number of ranks and number of nodes. If the user gives a
/// number of nodes, it refers to the whole job. The nodes of a group then follow from its list of
/// ranks, because ranks fill one node after the other.
[[nodiscard]] std::vector<ExchangeSeries> read_trace_exchanges(std::string text, const std::string& origin,
                                                               const AskedFacts& asked, std::vector<std::string>& warnings);

/// Whether a line is a title of perftest (linux-rdma), such as `RDMA_Write BW Test`.
[[nodiscard]] bool is_perftest_title(const BenchmarkLine& line);

/// Reads the output of ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat and ib_send_lat: messages between two ranks. Times
/// are typical latencies of one way, or those of one message of a window at the average bandwidth. `MB/sec` are 2^20 bytes
/// per second (perftest_parameters.h of github.com/linux-rdma/perftest). Both ends may write into one file; equal tests are
/// one series. Throws Error for tests that no plan uses: round trips of reads, and atomics.
[[nodiscard]] std::vector<ExchangeSeries> read_perftest_text(const BenchmarkText& text, const AskedFacts& asked,
                                                             std::vector<std::string>& warnings);

/// Whether a line has the column names of AWS's nccom-test: `size(B) count(elems) type time:avg(us) …`.
[[nodiscard]] bool is_nccom_header(const BenchmarkLine& line);

/// Reads the tables of nccom-test, which measures collectives of Trainium. A table states neither operation nor ranks.
/// Bandwidths are defined as in nccl-tests.
[[nodiscard]] std::vector<ExchangeSeries> read_nccom_text(const BenchmarkText& text, const AskedFacts& asked,
                                                          std::vector<std::string>& warnings);

/// The collective of a program of Huawei's HCCL test, such as `all_reduce_test`; empty for any other word.
[[nodiscard]] std::optional<Collective> hccl_operation(std::string_view program);

/// Whether a line has the column names of HCCL test: `data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | …`.
[[nodiscard]] bool is_hccl_header(const BenchmarkLine& line);

/// Reads the tables of HCCL test. A table states neither operation nor ranks; the command that started it does.
[[nodiscard]] std::vector<ExchangeSeries> read_hccl_text(const BenchmarkText& text, const AskedFacts& asked,
                                                         std::vector<std::string>& warnings);

// Tests that copy messages of one size between all pairs, and print the bandwidths as a matrix.

/// Whether a line begins an output of nvbandwidth: `nvbandwidth Version: v0.6`.
[[nodiscard]] bool is_nvbandwidth_title(const BenchmarkLine& line);
/// Whether a line begins an output of the CUDA samples' p2pBandwidthLatencyTest.
[[nodiscard]] bool is_p2p_title(const BenchmarkLine& line);
/// Whether a line begins an output of mpiGraph (github.com/LLNL/mpiGraph): `START mpiGraph v1.6`.
[[nodiscard]] bool is_mpi_graph_title(const BenchmarkLine& line);

/// The copies between GPUs by copy engines, in one direction. They have nvbandwidth's default size of 512 MiB
/// (nvbandwidth.cpp of github.com/NVIDIA/nvbandwidth), because its text does not state the size. Throws Error if there is no
/// such matrix.
[[nodiscard]] std::vector<ExchangeSeries> read_nvbandwidth(const BenchmarkText& text, const AskedFacts& asked,
                                                           std::vector<std::string>& warnings);
/// The copies between GPUs in one direction with P2P: 40,000,000 integers (p2pBandwidthLatencyTest.cu).
[[nodiscard]] std::vector<ExchangeSeries> read_p2p_bandwidths(const BenchmarkText& text, const AskedFacts& asked,
                                                              std::vector<std::string>& warnings);
/// The send bandwidths between ranks, in MiB/s. All ranks send and receive at once. With several ranks per host, those
/// between hosts are concurrent pairs.
[[nodiscard]] std::vector<ExchangeSeries> read_mpi_graph(const BenchmarkText& text, const AskedFacts& asked,
                                                         std::vector<std::string>& warnings);

/// The ranks and nodes by which srun, mpirun or mpiexec starts each benchmark, if all commands of this program agree: `srun
/// -N2 --ntasks-per-node=4 osu_alltoall`. Facts that a command leaves to the scheduler are unset.
[[nodiscard]] LaunchedPrograms launched_programs(const BenchmarkText& text);

/// An error about a text that no reader knows. It names the tool that wrote the text, if its first lines show which, and why
/// its numbers are not used.
[[nodiscard]] Error unread_output(const BenchmarkText& text);

}  // namespace ddl
