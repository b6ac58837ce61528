#pragma once

#include "estimator/inputs/assumptions.hpp"

namespace ddl {

/// Returns the bytes of a frozen weight, with its share of the scales [Dettmers et al., "QLoRA", 2023, sections 2 and 3;
/// Open Compute Project, "OCP Microscaling Formats (MX) specification", version 1.0].
[[nodiscard]] double base_item_bytes(BaseWeights base);

}  // namespace ddl
