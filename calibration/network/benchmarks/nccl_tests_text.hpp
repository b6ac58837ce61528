#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Whether a line has the column names of nccl-tests: size, count and others.
[[nodiscard]] bool is_nccl_header(const BenchmarkLine& line);

/// Reads the text output of any version of nccl-tests. Columns are found by their names, and ranks by the lines that list
/// them. Other lines, such as NCCL's own log, are skipped. Each table is a series. Throws Error that points to the broken
/// part: a row that lacks cells, a table without rows, or a table that ends before the largest size of the run.
[[nodiscard]] std::vector<ExchangeSeries> read_nccl_tests_text(const BenchmarkText& text, const AskedFacts& asked,
                                                               std::vector<std::string>& warnings);

}  // namespace ddl
