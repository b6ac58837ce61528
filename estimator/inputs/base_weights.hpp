#pragma once

#include <optional>

#include "estimator/inputs/assumptions.hpp"

namespace ddl {

/// Returns the bytes of a frozen weight, with its share of the scales [Dettmers et al., "QLoRA", 2023, sections 2 and 3;
/// Open Compute Project, "OCP Microscaling Formats (MX) specification", version 1.0].
[[nodiscard]] double base_item_bytes(BaseWeights base);
/// Returns whether the kernels of bitsandbytes multiply with the weights.
[[nodiscard]] inline bool is_quantized(const std::optional<BaseWeights>& base) {
  return base == BaseWeights::nf4 || base == BaseWeights::nf4_double || base == BaseWeights::int8;
}

}  // namespace ddl
