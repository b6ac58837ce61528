#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Longest output of a benchmark: NCCL's log of many ranks may be in it. A trace may be as long as max_trace_bytes.
inline constexpr std::size_t max_exchange_file_bytes = std::size_t{64} << 20U;
/// Rows of one operation among the same ranks.
inline constexpr std::size_t most_series_rows = 50'000;

/// Reads what nccl-tests (text or -J), OSU micro-benchmarks or all_reduce_bench.py printed, or what NCCL Inspector or
/// PyTorch's profiler wrote, recognised by its content; `origin` is printed in errors. An Error placed in the text where it
/// is broken, where it is a table made from such output, and where it is neither. Warnings are without the file's name.
[[nodiscard]] std::vector<ExchangeSeries> parse_exchanges(std::string text, const std::string& origin,
                                                          const AskedFacts& asked, std::vector<std::string>& warnings);
[[nodiscard]] std::vector<ExchangeSeries> load_exchanges(const std::string& path, const AskedFacts& asked,
                                                         std::vector<std::string>& warnings);

}  // namespace ddl
