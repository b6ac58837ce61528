#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "calibration/network/sweep/sweep.hpp"

namespace ddl {

/// The tables as OSU's micro-benchmarks print theirs, with -f. Before each is a line that OSU's do not have,
/// `# ddl-oracle: ranks=4 nodes=2 window=64`, by which read_osu_text knows what their format does not say. `library` is the
/// one word after OSU: MPI or NCCL.
[[nodiscard]] std::string print_osu(std::span<const SweepTable> tables, std::string_view library);

/// The tables as read_osu_text reads them from that text, of a file called `name`.
[[nodiscard]] std::vector<ExchangeSeries> series_of(std::span<const SweepTable> tables, const std::string& name);

}  // namespace ddl
