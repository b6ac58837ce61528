#pragma once

#include <string>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// Reads the file that nccl-tests writes with `-J FILE` since version 2.17: an object with `version`, `args`, `config` with
/// `devices`, `results`, `out_of_bounds` (src/util.cu of github.com/NVIDIA/nccl-tests). Times are in microseconds. Throws
/// Error that points to a broken part. A run that ended early leaves incomplete JSON.
[[nodiscard]] std::vector<ExchangeSeries> read_nccl_tests_json(std::string text, const std::string& origin,
                                                               const AskedFacts& asked, std::vector<std::string>& warnings);

}  // namespace ddl
