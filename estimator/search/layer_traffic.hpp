#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/split_tables.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// The layer-wise exchanges and halos of the plans of a search. Returns lower bounds of the time that these add to a
/// micro-batch, and of the number of launches by a rank's host. Not thread-safe.
class LayerTraffic {
 public:
  /// The tables must outlive this object.
  explicit LayerTraffic(const SplitTables& tables) : tables_(tables), job_(tables.job()) {}

  /// Returns a lower bound of the time of exchanges that are not overlapped with kernels, in all stages together, for plans
  /// that divide layers as `plan` does. `placed`: the exchanges under the placement of `plan`.
  [[nodiscard]] Seconds time(const Plan& plan, const ExchangeTimes& placed) const;
  /// Returns a lower bound of the time of the same exchanges for each sample, for any number of micro-batches, as the
  /// minimum over some placements. `plan` has one micro-batch: shorter messages take at least as long for each byte.
  [[nodiscard]] Seconds time_of_sample(Plan plan, const std::vector<Placement>& placements) const;
  /// Returns a lower bound of the number of launches, for any exchange of contexts and any way to divide experts.
  [[nodiscard]] double launches(const Plan& plan) const;

 private:
  /// An exchange that occurs several times in the layers of a model.
  struct Equal {
    Exchange exchange;
    double count = 0;  ///< number of equal exchanges in one micro-batch
  };
  /// Calls `take(exchange, layers)` for the exchanges of each kind of layer, except exchanges of gradients, exchanges
  /// between stages, and exchanges that are hidden behind kernels. `alone`: a plan without replicas and stages.
  template <class Take>
  void each_exchange(const Plan& alone, const Take& take) const;
  [[nodiscard]] const std::vector<Equal>& exchanges_of(const Plan& plan) const;
  [[nodiscard]] double launches_of(const Plan& plan) const;
  /// Returns the time of an exchange for each sample, as in time_of_sample(). `samples`: samples of the micro-batch.
  [[nodiscard]] Seconds time_of_sample(const Exchange& exchange, double samples, double item,
                                       const ExchangeTimes& placed) const;

  /// The number of plans with cached exchanges.
  static constexpr std::size_t kept = 2048;
  const SplitTables& tables_;
  const Job& job_;
  mutable std::map<Plan, std::vector<Equal>> known_;  ///< exchanges, keyed by the degrees and choices that divide layers
  /// Numbers of launches, keyed by the degrees and choices that divide layers.
  mutable std::map<std::tuple<Mesh, bool, ContextExchange, bool>, double> launches_;
};

}  // namespace ddl
