#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/layer_costs.hpp"

namespace ddl {

/// Part of a step of training.
enum class StepPhase { setup, forward, backward, exchange, update };
[[nodiscard]] std::string_view to_string(StepPhase phase);

/// Something that was in memory: what for, of which layer (−1: of none), how much.
struct LiveMemory {
  MemoryItem item = MemoryItem::activations;
  int layer = -1;
  Bytes bytes{};
};

/// Memory while one layer's pass ran.
struct TimelinePoint {
  StepPhase phase = StepPhase::setup;
  int layer = -1;
  Bytes allocated{}, reserved{};  ///< the most during the pass
};

/// A step of training as the requests it makes of the framework's allocator.
struct MemoryTimeline {
  std::vector<TimelinePoint> points;  ///< of the last step, in order
  Bytes peak_allocated{}, peak_reserved{};
  Bytes rounding{};  ///< of peak_allocated, what sizes were rounded up by
  /// Of peak_allocated, scratch memory; and of that, of the kernel that runs then.
  Bytes workspace{}, kernel_workspace{};
  StepPhase peak_phase = StepPhase::setup;
  int peak_layer = -1;
  std::array<Bytes, memory_item_count> at_peak{};  ///< by item, as requested
  std::vector<LiveMemory> live_at_peak;            ///< largest first
  bool fits = true;  ///< within the capacity given, with cached segments given back where that makes room
};

struct TimelineOptions {
  /// 2: the optimizer makes its state in the first step's update, and what is cached then is split differently after it.
  int steps = 2;
  bool details = true;  ///< points, and what is there at the peak
  /// What the allocator may take of the device.
  std::optional<Bytes> capacity;
};

/// The step of a rank of stage `stage`, whose layers are [first, last): forward of as many micro-batches as the schedule
/// holds at once, backward, exchange and update. Gradients appear in backward, layer by layer, and are set to none after the
/// update, where one backward makes all of them; else they are there from the start, and backward adds to them.
/// Not for the closed forms (Assumptions::memory_reuse).
[[nodiscard]] MemoryTimeline memory_timeline(const Job& job, const Plan& plan, const LayerCostTable& table, int stage,
                                             int first, int last, const TimelineOptions& options = {});

/// Puts a timeline's peaks in the place of those of sums, in which a kept tensor counts from the layer that makes it to the
/// end of that layer's backward: what the sum has too much is of activations.
void refine(MemoryBreakdown& memory, const MemoryTimeline& timeline);

}  // namespace ddl
