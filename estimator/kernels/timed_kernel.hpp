#pragma once

#include <optional>
#include <string_view>

#include "core/quantity.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "estimator/kernels/provenance.hpp"
#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

inline constexpr std::string_view cast_pass = "cast";
inline constexpr std::string_view overhead_pass = "overhead";
inline constexpr std::string_view fresh_memory_pass = "fresh-memory";

/// One problem of a layer: a kernel with one rank's shapes and one micro-batch's samples, and its time.
struct TimedKernel {
  /// The pass, as to_string(Pass) returns it, or one of these: `backward` if both gradients have one time, `gradient-sum`
  /// for additions that combine gradients of the layer's output, `cast` for autocast's casts, `overhead` for the time of a
  /// whole step beyond the time of its kernels, `fresh-memory` for first touches of the tensors that kernels write.
  std::string_view pass;
  Phase phase = Phase::forward;
  std::optional<Work> work;  ///< work per sample; unset if times of unsplit layers are scaled
  Seconds time{};
  Provenance source = Provenance::roofline;
  std::optional<Precision> precision{};  ///< precision of its items, if it differs from the plan's

  /// Whether this is not a kernel but time beyond the kernels, which may be negative.
  [[nodiscard]] bool is_overhead() const { return pass == overhead_pass || pass == fresh_memory_pass; }
};

}  // namespace ddl
