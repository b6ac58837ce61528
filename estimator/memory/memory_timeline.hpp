#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/layer_costs.hpp"

namespace ddl {

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
  MemoryState peak;                   ///< as MemoryTally has it
  StepPhase peak_phase = StepPhase::setup;
  int peak_layer = -1;
  Bytes peak_reserved{};
  std::vector<LiveMemory> live_at_peak;  ///< largest first
  bool fits = true;  ///< within the capacity given, with cached segments given back where that makes room

  /// What sizes were rounded up by at the peak.
  [[nodiscard]] Bytes rounding() const { return peak.allocated - peak.requested(); }
};

struct TimelineOptions {
  /// 2: the optimizer makes its state in the first step's update, and what is cached then is split differently after it.
  int steps = 2;
  bool details = true;  ///< points, and what is there at the peak
  /// What the allocator may take of the device.
  std::optional<Bytes> capacity;
};

/// Two steps of a rank of stage `stage`, whose layers are [first, last), as StageRequests has them, and what a model of the
/// framework's allocator makes of them. Not for the closed forms (Assumptions::memory_reuse).
[[nodiscard]] MemoryTimeline memory_timeline(const Job& job, const Plan& plan, const LayerCostTable& table, int stage,
                                             int first, int last, const TimelineOptions& options = {});

}  // namespace ddl
