#pragma once

#include "core/quantity.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "estimator/layers/job.hpp"

namespace ddl {

/// Returns whether an exchange dispatches tokens to experts, or combines the outputs of experts.
[[nodiscard]] bool is_of_experts(const Exchange& exchange);
/// Returns the bytes of an exchange that the software actually sends. `message`: bytes of the full vector.
[[nodiscard]] Bytes sent_bytes(const Job& job, const ExchangeTimes& exchanges, const Exchange& exchange, Bytes message);
/// Returns the time of all messages of a layer's exchange in one micro-batch, without overlap with kernels.
[[nodiscard]] Seconds exchange_time(const Job& job, const ExchangeTimes& exchanges, const Exchange& exchange, Bytes message);

}  // namespace ddl
