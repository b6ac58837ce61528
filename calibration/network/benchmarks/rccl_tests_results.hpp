#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

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

}  // namespace ddl
