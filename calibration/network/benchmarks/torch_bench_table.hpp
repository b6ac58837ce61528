#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

// What the benchmarks of torch.distributed in stas00/ml-engineering, network/benchmarks, print: `all_reduce_bench.py` and
// `torch-dist-bench.py`. Bandwidths are as those of nccl-tests; 1 GBps is 10^9 bytes a second.

/// Whether a line names the columns of such a table, which is one of Markdown.
[[nodiscard]] bool is_torch_bench_header(const BenchmarkLine& line);

/// A series of each table. Tables of operations that no plan uses are left out with a warning, as are bandwidths of too few
/// digits.
[[nodiscard]] std::vector<ExchangeSeries> read_torch_bench_tables(const BenchmarkText& text, const AskedFacts& asked,
                                                                  std::vector<std::string>& warnings);

}  // namespace ddl
