#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// The part of a machine's network that an exchange used.
enum class NetworkLevel { node, between_nodes };

/// What one repetition of a benchmark consists of.
enum class ExchangePattern {
  one_way,     ///< one message in one direction: half of a round trip, or one message of a window
  both_ways,   ///< one message of a window, while both ranks send at once
  collective,  ///< one collective
};

struct MeasuredExchange {
  Bytes message{};  ///< full vector, m in docs/formulas.md: P parts for allgather, reduce_scatter and all_to_all
  Seconds time{};   ///< time of one operation; above zero
  bool in_place = false;
  /// Standard deviation, or half the spread, if the benchmark prints one.
  std::optional<Seconds> spread{};
  std::size_t line = 0;     ///< line of the file, from 1
  std::string algorithm{};  ///< algorithm and protocol of the library, such as `Ring LL128`; empty if unknown
};

/// Rows of one benchmark run with the same operation, ranks and software.
struct ExchangeSeries {
  Collective operation = Collective::allreduce;
  ExchangePattern pattern = ExchangePattern::collective;
  /// Messages in flight in each direction (a bandwidth test's window); 1 for other tests.
  double window = 1;
  /// Pairs of ranks that exchanged messages at once, as in osu_mbw_mr; a time is that of one pair. 1 for other tests.
  int pairs = 1;
  std::optional<int> ranks{};
  std::optional<int> nodes{};
  std::optional<NetworkLevel> level{};  ///< unset: unknown
  std::vector<MeasuredExchange> rows{};
  std::string tool{};     ///< name and version of the benchmark, if the file contains them
  std::string library{};  ///< a library with known decision rules, such as `openmpi-4.1`; otherwise empty
  std::string device{};   ///< device of the first rank, by its name in the file; empty if missing
  std::string file{};
};

}  // namespace ddl
