#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/network/benchmarks/exchange_facts.hpp"
#include "calibration/network/benchmarks/nccl_log.hpp"

namespace ddl {

// The results of nccl-tests, as text or as JSON. Sources: github.com/NVIDIA/nccl-tests, src/common.cu and src/util.cu for
// the columns, the *GetCollByteCount functions for sizes, doc/PERFORMANCE.md for the bandwidths.

/// The time in a row, and the two bandwidths that the benchmark derives from the time, as printed.
struct NcclTime {
  double microseconds = 0;
  double algorithm_bandwidth = 0, bus_bandwidth = 0;  ///< GB/s
  double algorithm_rounding = 0, bus_rounding = 0;    ///< rounding errors: half a unit of the last digits
  bool in_place = false;
  bool wrong = false;                 ///< whether the results were wrong
  std::optional<double> deviation{};  ///< deviation of the time, in microseconds
};

struct NcclRow {
  double size = 0;        ///< bytes of the larger of the two buffers: the full vector
  double count = 0;       ///< elements in the send buffer of one rank
  double type_bytes = 0;  ///< bytes of an element; 0: unknown
  std::vector<NcclTime> times{};
  std::size_t line = 0;
};

/// A rank in the list that nccl-tests prints before its table.
struct NcclRank {
  int rank = 0, group = 0;
  std::string host{}, device{};
  std::string index{}, bus{};  ///< number and bus address of the device: `0` and `0000:35:00`, or `0x35` in older versions
};

/// One table of results.
struct NcclRun {
  std::string program{};  ///< `all_reduce_perf`; empty if the file does not contain it
  std::string tool = "nccl-tests";
  // Facts from other sources than the program's name and the list of ranks.
  std::optional<Collective> operation{};
  std::optional<int> rank_count{}, node_count{};
  std::string device{};
  std::vector<NcclRank> ranks{};
  std::optional<bool> reduces{};   ///< whether the column `redop` names a reduction; unset: unknown
  std::optional<bool> has_root{};  ///< whether the column `root` names a rank, in place of -1; unset: unknown
  int ranks_per_line = 1;          ///< JSON has one line per process
  std::vector<NcclRow> rows{};
  // From NCCL's log: the algorithms, and the settings in the environment.
  std::vector<NcclChoice> choices{};
  std::string set_algorithm{}, set_protocol{};
};

/// Bytes of an element by its type's name in nccl-tests; 0: unknown.
[[nodiscard]] double nccl_type_bytes(std::string_view name);
/// The name of a program of nccl-tests in this word, with or without its path and a suffix such as `_mpi`; empty if the word
/// is not such a program.
[[nodiscard]] std::optional<std::string> nccl_program(std::string_view word);

/// Throws Error if the list of ranks has ranks of several runs, or two ranks on one device.
void refuse_broken_list(const NcclRun& run, const PlacedError& error);

/// Returns the usable rows as a series. Rows with zero bytes or time, and rows with wrong results, are left out. If a run
/// does not list its ranks, their number is derived: for a collective with one part per rank from the sizes, for an
/// Allreduce from the two bandwidths, if only one number matches them. If a run does not state its operation, the operation
/// is derived from the columns, if only one matches them.
[[nodiscard]] ExchangeSeries series_of(const NcclRun& run, const std::string& file, const AskedFacts& asked,
                                       const PlacedError& error, std::vector<std::string>& warnings);

}  // namespace ddl
