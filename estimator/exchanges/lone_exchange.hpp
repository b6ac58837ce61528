#pragma once

#include "estimator/exchanges/exchange.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Predicts the time of an exchange by a group that is alone on the machine, as in benchmarks. The group has `ranks` ranks,
/// with equally many on each of `nodes` nodes. If the group does not fill its nodes, the network is treated as a fat tree,
/// and only the rails of the participating devices are used, because NCCL uses the NICs nearest to each GPU.
class LoneExchange {
 public:
  /// Keeps a reference to the coefficients. `ranks` must be a multiple of `nodes`.
  LoneExchange(Machine machine, const Coefficients& coefficients, int ranks, int nodes);

  /// Returns the predicted time and algorithm. `message`: bytes of the full vector.
  [[nodiscard]] ExchangeTimes::Predicted predict(Collective operation, Bytes message) const;
  /// Returns the time of an Allreduce with this algorithm, by formulas and not by measurements.
  [[nodiscard]] Seconds allreduce_time(AllreduceAlgorithm algorithm, Bytes message) const;
  /// Returns a lower bound of the time of any Allreduce: ⌈log2 P⌉ start-ups, and 2m(U−1)/U bytes through the links of each
  /// of the U ranks or nodes [BH18, section 2].
  [[nodiscard]] Seconds allreduce_bound(Bytes message) const;
  /// Returns the machine. A caller may change the machine's links.
  [[nodiscard]] Machine& machine() { return machine_; }

 private:
  Machine machine_;
  const Coefficients& coefficients_;
  Assumptions assumptions_{};
  Plan plan_{};
  int ranks_ = 1, nodes_ = 1;
};

}  // namespace ddl
