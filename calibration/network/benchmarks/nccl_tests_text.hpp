#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Whether a line names the columns as nccl-tests prints them: size, count and further ones.
[[nodiscard]] bool is_nccl_header(const BenchmarkLine& line);

/// What nccl-tests printed, of any version: columns are found by their names; ranks by the lines that list them; other
/// lines, such as NCCL's own log, are passed over. Each table is a series. An Error placed at what is broken: a row that
/// lacks cells, a table without rows, or one that ends before the largest size that the run was to reach.
[[nodiscard]] std::vector<ExchangeSeries> read_nccl_tests_text(const BenchmarkText& text, const AskedFacts& asked,
                                                               std::vector<std::string>& warnings);

}  // namespace ddl
