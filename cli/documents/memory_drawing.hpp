#pragma once

#include <string>
#include <string_view>

#include "estimator/memory/memory_timeline.hpp"
#include "model_zoo/model.hpp"

namespace ddl {

/// Bytes allocated and reserved over a step, layer by layer, as an SVG of 960 × 480; beside it what is there at the peak,
/// the largest first, by the names of the layers. `capacity`: what the device has, drawn as a line where it is near.
[[nodiscard]] std::string draw_memory(const MemoryTimeline& timeline, const Model& model, std::string_view title,
                                      Bytes capacity);

}  // namespace ddl
