#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

// Reads files that NCCL's profiler plugin Inspector writes while a program runs:
// github.com/NVIDIA/nccl, plugins/profiler/inspector (previously ext-profiler/inspector). A file
// contains one JSON object for each exchange and rank.

/// Whether a JSON text is a file of NCCL Inspector, judged by its keys.
[[nodiscard]] bool is_nccl_inspector(std::string_view text);

/// Returns one series for each operation, number of ranks and number of nodes. If several ranks recorded an exchange, the
/// shortest recorded time is used, because the rank that arrived last waited least.
[[nodiscard]] std::vector<ExchangeSeries> read_nccl_inspector(std::string text, const std::string& origin,
                                                              const AskedFacts& asked, std::vector<std::string>& warnings);

}  // namespace ddl
