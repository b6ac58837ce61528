#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

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

}  // namespace ddl
