#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

// The tables of the torch.distributed benchmarks in stas00/ml-engineering, network/benchmarks: `all_reduce_bench.py` and
// `torch-dist-bench.py`. Bandwidths are defined as in nccl-tests; 1 GBps is 10^9 bytes per second.

/// Whether a line has the column names of a table of a torch.distributed benchmark, which is in Markdown.
[[nodiscard]] bool is_torch_bench_header(const BenchmarkLine& line);

/// Returns one series per table. Tables of operations that no plan uses are skipped with a warning.
/// Bandwidths with too few digits are also skipped with a warning.
[[nodiscard]] std::vector<ExchangeSeries> read_torch_bench_tables(const BenchmarkText& text, const AskedFacts& asked,
                                                                  std::vector<std::string>& warnings);

}  // namespace ddl
