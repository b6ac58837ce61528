#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "calibration/network/sweep/sweep.hpp"

namespace ddl {

/// Prints the tables in the format of OSU's micro-benchmarks with -f. A line such as `# ddl-oracle:
/// ranks=4 nodes=2 window=64` precedes each table. It tells read_osu_text facts that OSU's format
/// lacks. `library`: the word after OSU, MPI or NCCL.
[[nodiscard]] std::string print_osu(std::span<const SweepTable> tables, std::string_view library);

/// Returns the tables that read_osu_text would read from the printed text in a file named `name`.
[[nodiscard]] std::vector<ExchangeSeries> series_of(std::span<const SweepTable> tables, const std::string& name);

}  // namespace ddl
