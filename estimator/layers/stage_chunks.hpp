#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns the number of model chunks that each stage is cut into. Virtual stages of equal layers are not cut: each takes an
/// equal share of its stage's time. If layers are laid out differently, each chunk has layers of its own.
[[nodiscard]] inline int cut_chunks(const Plan& plan) {
  if (plan.virtual_stages == 1 || plan.mesh[Axis::pipeline] == 1) return 1;
  const auto is_alike = [&](const LayerSegment& segment) { return segment.mesh == plan.mesh; };
  return std::all_of(plan.segments.begin(), plan.segments.end(), is_alike) ? 1 : plan.virtual_stages;
}

/// Calls `take(first, last)` for the layers [first, last) of each chunk of a stage. `firsts`: the first layers of all chunks
/// in the order of the layers, and the layer count. Chunk i is on stage i mod p [Nar21, section 2.2].
template <class Take>
void each_chunk(const std::vector<int>& firsts, const Plan& plan, int stage, const Take& take) {
  const auto stages = static_cast<std::size_t>(plan.mesh[Axis::pipeline]);
  for (auto i = static_cast<std::size_t>(stage); i + 1 < firsts.size(); i += stages) take(firsts[i], firsts[i + 1]);
}

}  // namespace ddl
