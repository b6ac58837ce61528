#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Whether a line has the column names of AWS's nccom-test: `size(B) count(elems) type time:avg(us) …`.
[[nodiscard]] bool is_nccom_header(const BenchmarkLine& line);

/// Reads the tables of nccom-test, which measures collectives of Trainium. A table states neither operation nor ranks.
/// Bandwidths are defined as in nccl-tests.
[[nodiscard]] std::vector<ExchangeSeries> read_nccom_text(const BenchmarkText& text, const AskedFacts& asked,
                                                          std::vector<std::string>& warnings);

}  // namespace ddl
