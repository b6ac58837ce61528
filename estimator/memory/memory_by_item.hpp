#pragma once

#include <array>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/memory/memory_timeline.hpp"

namespace ddl {

/// Returns the requested bytes of each item for each point of memory_timeline() with the same arguments, at the moment when
/// the point's memory is largest.
[[nodiscard]] std::vector<std::array<Bytes, memory_item_count>> memory_by_item(const StageOf& stage,
                                                                               const TimelineOptions& options = {});

}  // namespace ddl
