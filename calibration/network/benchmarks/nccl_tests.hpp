#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"
#include "calibration/network/benchmarks/nccl_log.hpp"

namespace ddl {

// What nccl-tests says of a run, as text or as JSON. Facts: github.com/NVIDIA/nccl-tests, src/common.cu and src/util.cu for
// the columns, the *GetCollByteCount functions for sizes, doc/PERFORMANCE.md for the bandwidths.

/// One time of a row and the two bandwidths derived from it, as printed.
struct NcclTime {
  double microseconds = 0;
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  ///< GB/s
  double algorithm_rounding = 0, bus_rounding = 0;    ///< half a unit of their last digits
  bool in_place = false;
  bool wrong = false;                 ///< the results were
  std::optional<double> deviation{};  ///< of the time, in microseconds
};

struct NcclRow {
  double size = 0;        ///< bytes of the larger of the two buffers: of all parts
  double count = 0;       ///< elements that one rank hands over
  double type_bytes = 0;  ///< of an element; 0: not known
  std::vector<NcclTime> times{};
  std::size_t line = 0;
};

/// A rank as the run lists it.
struct NcclRank {
  int rank = 0, group = 0;
  std::string host{}, device{};
};

/// One table of results.
struct NcclRun {
  std::string program{};  ///< `all_reduce_perf`; empty: the file does not say
  std::string tool = "nccl-tests";
  // Where something else than the program's name and a list of ranks says them.
  std::optional<Collective> operation{};
  std::optional<int> rank_count{};
  std::string device{};
  std::vector<NcclRank> ranks{};
  int ranks_per_line = 1;  ///< JSON lists one for each process
  std::vector<NcclRow> rows{};
  // What NCCL's log says beside them: what ran, and what the environment set.
  std::vector<NcclChoice> choices{};
  std::string set_algorithm{}, set_protocol{};
};

/// Bytes of an element by the name that nccl-tests gives its type; 0: not known.
[[nodiscard]] double nccl_type_bytes(std::string_view name);
/// Whether a word is the name of a program of nccl-tests, with or without its path.
[[nodiscard]] std::optional<std::string> nccl_program(std::string_view word);

/// The rows that say something: not those of no bytes or no time, nor of wrong results. Ranks that a run does not list
/// follow from the sizes of a collective with parts, or from the two bandwidths of an Allreduce where only one number
/// fits them.
[[nodiscard]] ExchangeSeries series_of(const NcclRun& run, const std::string& file, const AskedFacts& asked,
                                       const PlacedError& error, std::vector<std::string>& warnings);

}  // namespace ddl
