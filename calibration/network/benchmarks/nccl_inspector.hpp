#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

// What the profiler plugin NCCL Inspector writes while any program runs: github.com/NVIDIA/nccl, plugins/profiler/inspector
// (ext-profiler/inspector before). One JSON object for each exchange and rank, one behind the other.

/// Whether a JSON text is such a file, by its keys.
[[nodiscard]] bool is_nccl_inspector(std::string_view text);

/// A series of each operation, number of ranks and number of nodes. Of the ranks that recorded an exchange the last one to
/// come waited least, so the shortest of their times counts.
[[nodiscard]] std::vector<ExchangeSeries> read_nccl_inspector(std::string text, const std::string& origin,
                                                              const AskedFacts& asked, std::vector<std::string>& warnings);

}  // namespace ddl
