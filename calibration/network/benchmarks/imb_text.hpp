#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Whether a line is `# Benchmarking Allreduce`, with which the Intel MPI Benchmarks begin a table.
[[nodiscard]] bool is_imb_title(const BenchmarkLine& line);

/// Reads the output of the Intel MPI Benchmarks (IMB-MPI1, IMB-NBC): a series for each table. Times are averages over all
/// ranks; for non-blocking collectives, `t_pure`. Benchmarks that no plan uses, and tables of several groups at once, are
/// skipped with a warning. Sizes are those of the benchmarks' documentation, "Benchmark definitions": of one rank's part for
/// Allgather and Alltoall, of the vector for the others.
[[nodiscard]] std::vector<ExchangeSeries> read_imb_text(const BenchmarkText& text, const AskedFacts& asked,
                                                        std::vector<std::string>& warnings);

}  // namespace ddl
