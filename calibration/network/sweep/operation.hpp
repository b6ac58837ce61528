#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// The operations of a sweep. They time the same exchanges as OSU's micro-benchmarks of the same names.
enum class SweepOperation {
  latency,
  bandwidth,
  two_way_bandwidth,
  allreduce,
  allgather,
  reduce_scatter,
  broadcast,
  all_to_all
};

struct SweepOperationKind {
  SweepOperation operation;
  std::string_view name;   ///< OSU's name: `bw`
  std::string_view title;  ///< name in the title of OSU's table
  Collective collective;
  ExchangePattern pattern;
  /// Whether a message size is the part of one rank. The rank sends this part, or 1/P of it, to
  /// each other rank. The full vector consists of P parts.
  bool of_part = false;
  bool reduces = false;  ///< whether the operation adds floats, at least one per message
};
[[nodiscard]] std::span<const SweepOperationKind> sweep_operations();
[[nodiscard]] const SweepOperationKind& kind_of(SweepOperation operation);
[[nodiscard]] std::optional<SweepOperation> parse_sweep_operation(std::string_view name);

}  // namespace ddl
