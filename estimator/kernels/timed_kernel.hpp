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

/// One problem of a layer and its time. The problem is a kernel with one rank's shapes and one micro-batch's samples.
struct TimedKernel {
  /// The name of the pass as returned by to_string(Pass), or one of the following. `backward`: both gradients have one time.
  /// `gradient-sum`: additions that combine gradients of the layer's output. `cast`: autocast's casts. `overhead`: the time
  /// of a whole step beyond the time of its kernels. `fresh-memory`: first touches of the tensors that kernels write.
  std::string_view pass;
  Phase phase = Phase::forward;
  std::optional<Work> work;  ///< work per sample; unset if times of unsplit layers are scaled
  Seconds time{};
  Provenance source = Provenance::roofline;
  std::optional<Precision> precision{};  ///< precision of the kernel's elements, if it differs from the plan's precision

  /// Returns whether this is time beyond the kernels, which may be negative, and not a kernel.
  [[nodiscard]] bool is_overhead() const { return pass == overhead_pass || pass == fresh_memory_pass; }
};

}  // namespace ddl
