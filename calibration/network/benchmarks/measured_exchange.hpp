#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// Which part of a machine's network an exchange went over.
enum class NetworkLevel { node, between_nodes };

/// What one repetition of a benchmark's row did.
enum class ExchangePattern {
  one_way,     ///< one message: half a round trip, or one of a window sent in one direction
  both_ways,   ///< one of a window of messages sent in both directions at once
  collective,  ///< the operation as it is named
};

/// One row of a benchmark of communication.
struct MeasuredExchange {
  Bytes message{};  ///< of the full vector, the m of docs/formulas.md: P parts for allgather, reduce_scatter and all_to_all
  Seconds time{};   ///< of one operation; above zero
  bool in_place = false;
  /// Standard deviation, or half the spread, where the benchmark gives one.
  std::optional<Seconds> spread{};
  std::size_t line = 0;     ///< of the file, from 1
  std::string algorithm{};  ///< and protocol that the library ran, such as `Ring LL128`; empty where nothing says it
};

/// Rows of one benchmark run: same operation, ranks, software.
struct ExchangeSeries {
  Collective operation = Collective::allreduce;
  ExchangePattern pattern = ExchangePattern::collective;
  /// Messages in flight at once in each direction (a bandwidth test's window); 1 elsewhere.
  double window = 1;
  std::optional<int> ranks{};
  std::optional<int> nodes{};
  std::optional<NetworkLevel> level{};  ///< nothing: not known
  std::vector<MeasuredExchange> rows{};
  std::string tool{};     ///< name and version of the benchmark, as far as the file says
  std::string library{};  ///< whose decision rules are known: `openmpi-4.1`; else empty
  std::string device{};   ///< of the first rank, as the file calls it; empty where it does not say
  std::string file{};
};

}  // namespace ddl
