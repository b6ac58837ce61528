#pragma once

#include "estimator/exchanges/exchange.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Predicts the time of an exchange by a group that is alone on the machine, as in benchmarks. The group has `ranks` ranks,
/// with equally many on each of `nodes` nodes. If the group does not fill its nodes, the network is treated as a fat tree,
/// and only the rails of the participating devices are used, because NCCL uses the adapters nearest to each GPU.
class LoneExchange {
 public:
  /// Keeps a reference to the coefficients. `ranks` must be a multiple of `nodes`.
  LoneExchange(Machine machine, const Coefficients& coefficients, int ranks, int nodes);

  /// Returns the predicted time and algorithm. `message`: bytes of the full vector.
  [[nodiscard]] ExchangeTimes::Predicted predict(Collective operation, Bytes message) const;
  /// Returns the machine. A caller may change the machine's links.
  [[nodiscard]] Machine& machine() { return machine_; }

 private:
  Machine machine_;
  const Coefficients& coefficients_;
  Assumptions assumptions_{};
  Plan plan_{};
};

}  // namespace ddl
