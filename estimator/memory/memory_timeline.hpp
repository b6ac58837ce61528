#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/stage_of.hpp"
#include "estimator/memory/caching_allocator.hpp"
#include "estimator/memory/memory.hpp"

namespace ddl {

/// Memory in use: its purpose, its layer (−1: no layer) and its bytes.
struct LiveMemory {
  MemoryItem item = MemoryItem::activations;
  int layer = -1;
  Bytes bytes{};
};

/// The memory during one layer's pass.
struct TimelinePoint {
  StepPhase phase = StepPhase::setup;
  int layer = -1;
  Bytes allocated{}, reserved{};  ///< maximum memory during the pass
};

/// A training step as a sequence of requests to the allocator of the framework.
struct MemoryTimeline {
  std::vector<TimelinePoint> points;  ///< points of the last step, in order
  MemoryState peak;                   ///< peak of memory, as computed by MemoryTally::peak
  StepPhase peak_phase = StepPhase::setup;
  int peak_layer = -1;
  Bytes peak_reserved{};
  CachingAllocator::Reserved at_peak_reserved;  ///< composition of the peak of reserved memory
  std::vector<LiveMemory> live_at_peak;         ///< live memory at the peak, largest first
  bool fits = true;  ///< whether the step fits the given capacity, after cached segments are returned if necessary

  /// Returns the bytes that rounding of sizes added at the peak.
  [[nodiscard]] Bytes rounding() const { return peak.allocated - peak.requested(); }
};

struct TimelineOptions {
  /// The number of training steps. The default is 2, because the update of the first step allocates
  /// the optimizer state, which changes how cached memory is split.
  int steps = 2;
  bool details = true;  ///< whether to record points, and the live memory at the peak
  /// The memory of the device that is available to the allocator.
  std::optional<Bytes> capacity;
};

/// Simulates several steps of one rank of a stage: sends the rank's requests for memory (StageRequests) to a model of the
/// framework's allocator. Not available for the closed forms (Assumptions::memory_reuse).
[[nodiscard]] MemoryTimeline memory_timeline(const StageOf& stage, const TimelineOptions& options = {});

}  // namespace ddl
