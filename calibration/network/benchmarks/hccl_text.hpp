#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"

namespace ddl {

/// The collective of a program of Huawei's HCCL test, such as `all_reduce_test`; empty for any other word.
[[nodiscard]] std::optional<Collective> hccl_operation(std::string_view program);

/// Whether a line has the column names of HCCL test: `data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | …`.
[[nodiscard]] bool is_hccl_header(const BenchmarkLine& line);

/// Reads the tables of HCCL test. A table states neither operation nor ranks; the command that started it does.
[[nodiscard]] std::vector<ExchangeSeries> read_hccl_text(const BenchmarkText& text, const AskedFacts& asked,
                                                         std::vector<std::string>& warnings);

}  // namespace ddl
