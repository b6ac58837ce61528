#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// What a sweep times: OSU's micro-benchmarks of the same names.
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
  std::string_view name;   ///< `bw`, as OSU calls it
  std::string_view title;  ///< in the title of OSU's table
  Collective collective;
  ExchangePattern pattern;
  /// Sizes are of the part that one rank gives, of which each other rank gets all or one of P; the full vector has P of
  /// them.
  bool of_part = false;
  bool reduces = false;  ///< adds floats, so that no message is shorter than one
};
[[nodiscard]] std::span<const SweepOperationKind> sweep_operations();
[[nodiscard]] const SweepOperationKind& kind_of(SweepOperation operation);
[[nodiscard]] std::optional<SweepOperation> parse_sweep_operation(std::string_view name);

}  // namespace ddl
