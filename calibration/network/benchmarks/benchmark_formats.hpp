#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Maximum size of a benchmark's output, which may contain NCCL's log of many ranks. For a trace, the limit is
/// max_trace_bytes.
inline constexpr std::size_t max_exchange_file_bytes = std::size_t{64} << 20U;
/// Maximum number of rows of one operation and one set of ranks.
inline constexpr std::size_t most_series_rows = 50'000;

/// Reads the output of a communication benchmark (docs/calibration.md, "Reading benchmarks"), or a file of NCCL Inspector or
/// PyTorch's profiler. The kind is recognized by the content; a text may have the output of several benchmarks. `origin` is
/// printed in errors. Throws Error with a position in the text if the text is broken or its kind is unknown. Warnings do not
/// contain the file's name.
[[nodiscard]] std::vector<ExchangeSeries> parse_exchanges(std::string text, const std::string& origin,
                                                          const AskedFacts& asked, std::vector<std::string>& warnings);
[[nodiscard]] std::vector<ExchangeSeries> load_exchanges(const std::string& path, const AskedFacts& asked,
                                                         std::vector<std::string>& warnings);

}  // namespace ddl
