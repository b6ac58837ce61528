#pragma once

#include "estimator/exchanges/exchange.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Prices exchanges of a group that is alone on the machine, as benchmarks run them: `ranks` ranks, equally many on each of
/// `nodes` nodes. Where that is not how the machine's nodes are filled, its network counts as a fat tree, and nodes have the
/// rails next to the devices that take part: NCCL takes the adapters that are nearest to a GPU.
class LoneExchange {
 public:
  /// Refers to the coefficients. `ranks` is a multiple of `nodes`.
  LoneExchange(Machine machine, const Coefficients& coefficients, int ranks, int nodes);

  /// `message`: bytes of the full vector.
  [[nodiscard]] ExchangePrices::Priced price(Collective operation, Bytes message) const;
  /// To try other links than the machine's.
  [[nodiscard]] Machine& machine() { return machine_; }

 private:
  Machine machine_;
  const Coefficients& coefficients_;
  Assumptions assumptions_{};
  Plan plan_{};
};

}  // namespace ddl
