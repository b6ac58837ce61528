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

/// One problem of a layer: a kernel with one rank's shapes and one micro-batch's samples, and its price.
struct PricedKernel {
  /// As to_string(Pass) has it; `backward` where both halves are priced as one, `gradient-sum` for the additions that make
  /// one gradient of the layer's output, `cast` for those of autocast, `overhead` for what a whole step takes beside its
  /// kernels, `fresh-memory` for first touches of the tensors that they make.
  std::string_view pass;
  Phase phase = Phase::forward;
  std::optional<Work> work;  ///< per sample; nothing where whole layers are priced
  Seconds time{};
  Provenance source = Provenance::roofline;
  std::optional<Precision> precision{};  ///< of its items, where it is not the plan's

  /// What is spent beside the kernels is none, and may be less than nothing.
  [[nodiscard]] bool is_beside_kernels() const { return pass == overhead_pass || pass == fresh_memory_pass; }
};

}  // namespace ddl
