#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Messages that OSU's bandwidth tests keep in flight unless told otherwise; they do not print it
/// (mvapich.cse.ohio-state.edu/benchmarks, option -W).
inline constexpr double osu_window = 64;

/// Whether a line is the title of an OSU micro-benchmark: `# OSU MPI Latency Test v7.4`.
[[nodiscard]] bool is_osu_title(const BenchmarkLine& line);

/// What OSU micro-benchmarks printed, of any version: latency, bandwidth in one or both directions, allreduce, allgather,
/// reduce_scatter, bcast, alltoall and reduce. Each table is a series; columns beyond size and the first figure may follow.
/// The size column is of one rank's part for allgather and alltoall, so that these need the number of ranks; of the whole
/// vector for the others. Times of a bandwidth are those of one of a window of messages.
/// A line `# ddl-oracle: ranks=4 nodes=2 window=64` before a title says these of that table (print_osu).
/// An Error placed at what is broken.
[[nodiscard]] std::vector<ExchangeSeries> read_osu_text(const BenchmarkText& text, const AskedFacts& asked,
                                                        std::vector<std::string>& warnings);

}  // namespace ddl
