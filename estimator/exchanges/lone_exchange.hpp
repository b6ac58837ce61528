#pragma once

#include "estimator/exchanges/exchange.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Predicts the time of exchanges of a group that is alone on the machine, as benchmarks run them: `ranks` ranks, with the
/// same number on each of `nodes` nodes. If these ranks do not fill the nodes, the network is treated as a fat tree, and
/// only the rails of the participating devices are used: NCCL uses the adapters nearest to each GPU.
class LoneExchange {
 public:
  /// Keeps a reference to the coefficients. `ranks` must be a multiple of `nodes`.
  LoneExchange(Machine machine, const Coefficients& coefficients, int ranks, int nodes);

  /// `message`: bytes of the full vector.
  [[nodiscard]] ExchangeTimes::Predicted predict(Collective operation, Bytes message) const;
  /// The machine. A caller may change its links.
  [[nodiscard]] Machine& machine() { return machine_; }

 private:
  Machine machine_;
  const Coefficients& coefficients_;
  Assumptions assumptions_{};
  Plan plan_{};
};

}  // namespace ddl
