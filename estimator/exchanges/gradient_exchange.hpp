#pragma once

#include "core/quantity.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Gradient exchange of one stage and iteration: one fused message, or what ZeRO does in its place.
struct GradientExchange {
  Seconds of_gradients{};  ///< can run beside backward
  Seconds of_weights{};    ///< weights gathered for forward and backward, and beside those
  Seconds after_update{};  ///< weights gathered when they have been updated: nothing runs beside it
  double rounds = 1;       ///< how often gradients are exchanged, and
  double gathers = 0;      ///< weights gathered
  AllreduceAlgorithm algorithm = AllreduceAlgorithm::ring;
  BusyLink busy{};  ///< where its flows are held back
  [[nodiscard]] Seconds total() const { return of_gradients + of_weights + after_update; }
};

/// Whether each layer's gradients are a message of their own: where the measured software does that, in hybrids.
[[nodiscard]] bool layers_gradients(const Software& software, const Assumptions& assumptions, const Plan& plan);

/// `parameters`: those of which the stage exchanges gradients. `messages`: how many they are cut into; ZeRO has its own.
[[nodiscard]] GradientExchange gradient_exchange(const Plan& plan, const ExchangePrices& exchanges, double parameters,
                                                 double messages = 1);

/// Whether gradients are exchanged while backward runs: where the software does that, or, if nobody says what it does, where
/// it is no longer than one after the other. Kernels and exchange then get along as fast as 1/s_c + 1/s_x of one of them.
[[nodiscard]] bool overlaps_gradients(const Coefficients& coefficients, const Assumptions& assumptions);

/// By how much the exchanges of one iteration lengthen it: the time that computing cannot hide, and that by which it is
/// slowed down. At least the first weights, without which computing does not start, and the last gradients, which are
/// complete only when it ends, run alone. `computing`: what runs beside the others; `slowdown`: how long each then takes;
/// `idle`: how long the device waits for its host meanwhile, which slows nothing down.
[[nodiscard]] Seconds exposed(const GradientExchange& exchange, Seconds computing, Seconds idle, Bytes message,
                              const OverlapSlowdown& slowdown = {});

}  // namespace ddl
