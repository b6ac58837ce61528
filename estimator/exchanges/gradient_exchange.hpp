#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "core/quantity.hpp"
#include "estimator/exchanges/compression.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Parameters of a stage whose gradients are summed along the same axes.
struct GradientGroup {
  Family axes = 0;
  double parameters = 0;
  double messages = 1;      ///< number of messages that the gradients are divided into
  double frozen = 0;        ///< frozen parameters on the same ranks, which ZeRO-3 gathers together with the trained ones
  double gathers = 1;       ///< number of messages that the weights of one gather are divided into
  bool is_divided = false;  ///< whether the software sets these numbers of messages
  std::size_t layout = 0;   ///< the layout of a plan with segments (LayerKinds::layouts)
  friend bool operator==(const GradientGroup&, const GradientGroup&) = default;
};

/// The gradient exchange of one stage in one step: one fused message, or the collectives of ZeRO.
struct GradientExchange {
  Seconds of_gradients{};  ///< can overlap with backward
  Seconds of_weights{};    ///< weights gathered for forward and backward; can overlap with forward and backward
  Seconds after_update{};  ///< weights gathered after the update: exposed, or overlapped with the next forward
  Seconds of_copies{};     ///< sum of the shards' gradients across shard groups, once after all micro-batches
  /// Whether each message of `of_copies` starts when its shard of the last micro-batch is complete, and can overlap with the
  /// rest of backward, because scatters inside a node use other links. FSDP sums the shard of a unit as soon as it is
  /// scattered, in a stream of its own [PyTorch, torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce:
  /// all_reduce_stream].
  bool copies_overlap = false;
  Seconds at_servers{};  ///< time in which parameter servers without a barrier serve each worker once
  double rounds = 1;     ///< number of gradient exchanges
  double gathers = 0;    ///< number of weight gathers
  /// Numbers of messages of one gradient exchange and of one gather; 0: not set by the software.
  double messages = 0, gather_messages = 0;
  std::string_view algorithm = to_string(AllreduceAlgorithm::ring);
  bool measured = false;    ///< whether the time is measured; for several exchanges, whether the longest time is measured
  Bottleneck bottleneck{};  ///< the link that limits the exchange's flows
  [[nodiscard]] Seconds total() const { return of_gradients + of_weights + after_update + of_copies; }
  /// The start-up parts of the four times of this struct, if the caller requested start-ups.
  Seconds gradient_startups{}, weight_startups{}, update_startups{}, copy_startups{};

  /// Adds an exchange that runs after this exchange. The sum is reported with the algorithm of the longer exchange.
  void add(const GradientExchange& other);
};

/// Whether the weights of a plan exist in fp8 alone.
[[nodiscard]] inline bool has_primary_fp8(const Plan& plan, const Assumptions& assumptions) {
  return plan.precision == Precision::fp8 && assumptions.narrow_weights == NarrowWeights::primary &&
         assumptions.mixed_precision != MixedPrecision::autocast;
}

/// Returns whether stages of a pipeline hold whole weights and gradients from the first micro-batch to the last one,
/// although ZeRO shards them between steps, as under FSDP [PyTorch, torch/distributed/pipelining/stage.py,
/// backward_maybe_with_nosync: set_reshard_after_backward(False), set_requires_gradient_sync(False)].
[[nodiscard]] bool holds_whole(const Plan& plan, const Assumptions& assumptions);
/// Returns whether ranks hold whole gradients from the first micro-batch to the last one (Assumptions::accumulates_whole, or
/// holds_whole).
[[nodiscard]] bool sums_whole(const Plan& plan, const Assumptions& assumptions);

/// Bytes that a rank sends for each parameter. A gradient is sent in the precision in which it is stored, or in which the
/// software sums gradients. A weight is sent if ZeRO gathers it.
struct ExchangedBytes {
  double gradient = 4, weight = 4;
  double frozen = 4;  ///< bytes of a frozen weight, on average
  GradientWay way = GradientWay::allreduce;
  double local_steps = 1;      ///< steps between two exchanges of all ranks with replicas of a weight
  double local_fragments = 1;  ///< messages of such an exchange
  Synchronization synchronization = Synchronization::sync;  ///< synchronization of the plan's workers
  double servers = 1, neighbors = 2;                        ///< parameter servers; neighbors of a worker
  bool has_backward = true;                                 ///< whether any weight of the model is trained
  bool is_once_a_step = false;                              ///< whether shards are exchanged once per step (holds_whole)
  bool is_scattered_once = false;                           ///< whether gradients are exchanged once per step (sums_whole)
  [[nodiscard]] double least() const { return std::min(gradient, weight); }
};
[[nodiscard]] ExchangedBytes exchanged_bytes(const Plan& plan, const Assumptions& assumptions);
/// Returns the sent bytes for a model whose frozen weights may have a separate format (Assumptions::base).
[[nodiscard]] ExchangedBytes exchanged_bytes(const Plan& plan, const Assumptions& assumptions, const ModelFacts& facts);
/// Returns the bytes of the weights that an Allgather of ZeRO gathers: frozen weights are sharded by ZeRO-3 alone.
[[nodiscard]] Bytes gathered_weights(const Plan& plan, const ExchangedBytes& each, const GradientGroup& group);

/// Whether each layer's gradients are a separate message. In hybrids, this depends on the measured software.
[[nodiscard]] bool layers_gradients(const Software& software, const Assumptions& assumptions, const Plan& plan);

/// Divides the gradients and gathered weights of a group into messages, as the software does. `blocks`: number of the
/// model's blocks on the stage. With ZeRO-3, a message covers at most one block, because only one block is in memory as a
/// whole.
void divide_into_messages(const Software& software, const Assumptions& assumptions, const Plan& plan, double blocks,
                          GradientGroup& group);

/// Returns the exchanges of one group, or the exchanges of all groups of a stage one after the
/// other. `with_startups` also computes the start-up parts.
[[nodiscard]] GradientExchange gradient_exchange(const Plan& plan, const ExchangeTimes& exchanges,
                                                 const ExchangedBytes& each, const GradientGroup& group,
                                                 bool with_startups = false);
[[nodiscard]] GradientExchange gradient_exchange(const Plan& plan, const ExchangeTimes& exchanges,
                                                 const ExchangedBytes& each, std::span<const GradientGroup> groups,
                                                 bool with_startups = false);

/// The exchanges of gradients and weights of one step, in seconds. `T` is a number type that may carry derivatives.
template <class T>
struct GradientExchangeTimes {
  T of_gradients = T(0), of_weights = T(0), after_update = T(0);  ///< as in GradientExchange
  double rounds = 1, gathers = 0;
  [[nodiscard]] T total() const { return of_gradients + of_weights + after_update; }
};

/// The numbers of parts of one gradient exchange and of one gather. A part is exchanged as soon as it is complete, while
/// compute continues.
struct ExchangeParts {
  double gradients = 1, weights = 1;
  friend bool operator==(const ExchangeParts&, const ExchangeParts&) = default;
};
/// `message`: bytes of gradients. If the number of messages is unknown, parts have 25 MiB, the default of PyTorch's
/// DistributedDataParallel (its `bucket_cap_mb`) [Li et al., VLDB 2020].
[[nodiscard]] inline ExchangeParts overlapped_parts(const GradientExchange& exchange, Bytes message) {
  const double usual = std::max(1.0, std::ceil(message / 25_MiB));
  const auto known = [&](double messages) { return messages > 0 ? messages : usual; };
  return {known(exchange.messages), known(exchange.gather_messages)};
}

/// By how much an exchange of `left` seconds lengthens a step, if kernels of `computing` · `share` seconds run at the same
/// time. Kernels then run at 1/s_c of their speed, and the exchange runs at 1/s_x of its speed. When the shorter of the two
/// has ended, the rest of the longer one runs alone.
template <class T>
[[nodiscard]] T lengthening(const T& left, const T& computing, double share, const OverlapSlowdown& slowdown) {
  const T hidden = left < T(0) ? T(0) : left;
  const T slow_kernels = computing * (share * slowdown.kernels), slow_exchange = hidden * slowdown.exchange;
  const T both = slow_exchange < slow_kernels ? slow_exchange : slow_kernels;
  return hidden + both * (1.0 - 1.0 / slowdown.kernels - 1.0 / slowdown.exchange);
}

/// By how much the exchanges of one step lengthen the step, in seconds: the time that compute does not hide, plus the
/// slowdown of compute by the overlap. Two parts of the exchanges are never overlapped: the first weights, which compute
/// needs to start, and the last gradients, which are complete only when compute ends. `computing`: the compute that can
/// overlap with the exchanges. `parts`: see overlapped_parts. `slowdown`: by which factor compute and exchanges are slower
/// while they overlap. `idle`: the time in which the device waits for its host, and in which an exchange slows down no
/// kernel. Weights gathered after the update are not included.
template <class T>
[[nodiscard]] T exposed(const GradientExchangeTimes<T>& exchange, const T& computing, const T& idle,
                        const ExchangeParts& parts, const OverlapSlowdown& slowdown = {}) {
  const T ends = exchange.of_gradients * (1.0 / (parts.gradients * std::max(1.0, exchange.rounds))) +
                 exchange.of_weights * (1.0 / (parts.weights * std::max(1.0, exchange.gathers)));
  const double all = parts.gradients * exchange.rounds + parts.weights * exchange.gathers;
  const double between = (all - 1) / all;
  // While the device waits for its host, the exchange runs at full speed and slows down no kernel.
  const T left = exchange.of_gradients + exchange.of_weights - ends - idle * between;
  return ends + lengthening<T>(left, computing, between, slowdown);
}

}  // namespace ddl
