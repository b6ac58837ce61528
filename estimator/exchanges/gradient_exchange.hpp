#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "core/quantity.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Parameters of a stage whose gradients the ranks along the same axes sum.
struct GradientGroup {
  Family axes = 0;
  double parameters = 0;
  double messages = 1;  ///< into which the gradients are cut; ZeRO has its own
  double frozen = 0;    ///< parameters on the same ranks that have no gradients: ZeRO-3 gathers them with the others
  friend bool operator==(const GradientGroup&, const GradientGroup&) = default;
};

/// Gradient exchange of one stage and iteration: one fused message, or what ZeRO does in its place.
struct GradientExchange {
  Seconds of_gradients{};  ///< can run beside backward
  Seconds of_weights{};    ///< weights gathered for forward and backward, and beside those
  Seconds after_update{};  ///< weights gathered when they have been updated: beside nothing, or the next forward
  Seconds of_copies{};     ///< shards that groups sum once, when all micro-batches are done: beside nothing
  double rounds = 1;       ///< how often gradients are exchanged, and
  double gathers = 0;      ///< weights gathered
  std::string_view algorithm = to_string(AllreduceAlgorithm::ring);
  bool measured = false;    ///< whether it takes measured times; of several, the longest
  Bottleneck bottleneck{};  ///< where its flows are held back
  [[nodiscard]] Seconds total() const { return of_gradients + of_weights + after_update + of_copies; }
  /// Of each time what start-ups take, where it was asked for.
  Seconds gradient_startups{}, weight_startups{}, update_startups{}, copy_startups{};

  /// Followed by another; what the longer one was done by counts for both.
  void add(const GradientExchange& other);
};

/// Bytes that ranks exchange of a parameter: of its gradient, which is summed in the precision in which it lies in memory or
/// in which the software sums it, and of the weight that ZeRO gathers.
struct ExchangedBytes {
  double gradient = 4, weight = 4;
  [[nodiscard]] double least() const { return std::min(gradient, weight); }
};
[[nodiscard]] ExchangedBytes exchanged_bytes(const Plan& plan, const Assumptions& assumptions);

/// Whether each layer's gradients are a message of their own: where the measured software does that, in hybrids.
[[nodiscard]] bool layers_gradients(const Software& software, const Assumptions& assumptions, const Plan& plan);

/// Of one group, and of all groups of a stage, one after the other. `with_startups`: what start-ups take is worked out, too.
[[nodiscard]] GradientExchange gradient_exchange(const Plan& plan, const ExchangePrices& exchanges,
                                                 const ExchangedBytes& each, const GradientGroup& group,
                                                 bool with_startups = false);
[[nodiscard]] GradientExchange gradient_exchange(const Plan& plan, const ExchangePrices& exchanges,
                                                 const ExchangedBytes& each, std::span<const GradientGroup> groups,
                                                 bool with_startups = false);

/// Whether gradients are exchanged while backward runs: where the software does that, or, if nobody says what it does, where
/// it is no longer than one after the other. Kernels and exchange then get along as fast as 1/s_c + 1/s_x of one of them.
[[nodiscard]] bool overlaps_gradients(const Coefficients& coefficients, const Assumptions& assumptions);

/// Whether the weights that ZeRO-1 and -2 gather after the update arrive beside the next forward.
[[nodiscard]] bool gathers_beside_forward(const Coefficients& coefficients, const Assumptions& assumptions);

/// The exchanges of gradients and weights of one iteration, in seconds. `T` is a number that may carry derivatives.
template <class T>
struct ExchangeTimes {
  T of_gradients = T(0), of_weights = T(0), after_update = T(0);  ///< as GradientExchange has them
  double rounds = 1, gathers = 0;
  [[nodiscard]] T total() const { return of_gradients + of_weights + after_update; }
};

/// Bytes of one bucket of gradients that is exchanged as soon as it is complete: PyTorch's DistributedDataParallel takes
/// 25 MiB (its `bucket_cap_mb`) [Li et al., VLDB 2020].
inline constexpr Bytes gradient_bucket = 25_MiB;

/// By how much the exchanges of one iteration lengthen it, in seconds: the time that computing cannot hide, and that by
/// which it is slowed down. At least the first weights, without which computing does not start, and the last gradients,
/// which are complete only when it ends, run alone. `computing`: what runs beside the others; `slowdown`: how long each then
/// takes; `idle`: how long the device waits for its host meanwhile, which slows nothing down. Weights gathered after the
/// update are not in it.
template <class T>
[[nodiscard]] T exposed(const ExchangeTimes<T>& exchange, const T& computing, const T& idle, Bytes message,
                        const OverlapSlowdown& slowdown = {}) {
  const double buckets = std::max(1.0, std::ceil(message / gradient_bucket));
  const T ends = exchange.of_gradients * (1.0 / (buckets * std::max(1.0, exchange.rounds))) +
                 exchange.of_weights * (1.0 / (buckets * std::max(1.0, exchange.gathers)));
  const double all = buckets * (exchange.rounds + exchange.gathers);
  const double between = (all - 1) / all;
  // While the device waits for its host nothing slows the exchange down, nor does it anything else.
  const T left = exchange.of_gradients + exchange.of_weights - ends - idle * between;
  const T hidden = left < T(0) ? T(0) : left;
  // Both run until one of them is done, kernels at 1/s_c of their speed and the exchange at 1/s_x; what is left of the other
  // then runs alone.
  const T slow_kernels = computing * (between * slowdown.kernels), slow_exchange = hidden * slowdown.exchange;
  const T both = slow_exchange < slow_kernels ? slow_exchange : slow_kernels;
  return ends + hidden + both * (1.0 - 1.0 / slowdown.kernels - 1.0 / slowdown.exchange);
}

}  // namespace ddl
