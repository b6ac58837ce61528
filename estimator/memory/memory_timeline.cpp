#include "estimator/memory/memory_timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "estimator/memory/caching_allocator.hpp"
#include "estimator/memory/memory_by_item.hpp"
#include "estimator/memory/memory_tally.hpp"
#include "estimator/memory/stage_requests.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// Passes requests to the model of the allocator, and records live requests. Requests are also counted, so that a second
/// pass can stop at the peak of the first pass, and list the live memory there.
class MemoryRecord {
 public:
  /// A request, identified by its id.
  struct Block {
    std::size_t number = nothing;
  };
  using Mark = std::size_t;
  static constexpr double most_blocks = 64;  ///< with more micro-batches, several share a block
  static constexpr bool folds = false;
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);

  MemoryRecord(const Job& job, std::optional<Bytes> capacity)
      : tally_(CachingAllocator::granule(job.machine.device.is_processor)), allocator_(rounding_of(job), capacity) {}

  [[nodiscard]] Block allocate(Bytes bytes, MemoryItem item, int layer, double times = 1) {
    if (bytes <= Bytes{} || stopped_) return {};
    // Tensors that several micro-batches keep are separate blocks. A freed block of one micro-batch
    // has no room for a larger request.
    const double blocks = std::clamp(std::floor(times), 1.0, most_blocks);
    Block last;
    for (double i = 0; i < blocks; ++i) last = allocate_one(bytes, item, layer, times / blocks);
    return last;
  }
  void free(Block& block) {
    if (block.number == nothing || stopped_) return;
    Held& held = held_[block.number];
    block = {};
    if (held.tallied.bytes <= Bytes{}) return;
    tally_.free(held.tallied);
    allocator_.free(held.block);
  }
  void at(StepPhase phase, int layer) {
    tally_.at(phase, layer);
    phase_ = phase;
    layer_ = layer;
    const MemoryState now = tally_.mark();
    points_.push_back({phase, layer, now.allocated, allocator_.reserved()});
    items_.push_back(now.items);
  }
  void may_need(Bytes /*more*/) {}
  [[nodiscard]] Mark mark() const { return held_.size(); }
  void repeat(Mark /*since*/, double /*times*/) {}
  void release(Mark from, Mark to) {
    for (std::size_t i = from; i < to; ++i) {
      Block block{i};
      free(block);
    }
  }

  void forget_points() {
    points_.clear();
    items_.clear();
  }
  void stop_at(std::size_t count) { stop_at_ = count; }
  [[nodiscard]] std::size_t peak_count() const { return peak_count_; }
  [[nodiscard]] StepPhase peak_phase() const { return peak_phase_; }
  [[nodiscard]] int peak_layer() const { return peak_layer_; }
  [[nodiscard]] const MemoryTally& tally() const { return tally_; }
  [[nodiscard]] const CachingAllocator& allocator() const { return allocator_; }
  [[nodiscard]] std::vector<TimelinePoint>& points() { return points_; }
  [[nodiscard]] std::vector<std::array<Bytes, memory_item_count>>& items() { return items_; }
  /// Returns the live memory, grouped by purpose and layer, largest first.
  [[nodiscard]] std::vector<LiveMemory> live() const {
    std::map<std::pair<MemoryItem, int>, Bytes> sums;
    for (const Held& held : held_) {
      if (held.tallied.bytes > Bytes{}) sums[{held.tallied.item, held.layer}] += held.tallied.bytes;
    }
    std::vector<LiveMemory> live;
    for (const auto& [what, bytes] : sums) live.push_back({what.first, what.second, bytes});
    std::stable_sort(live.begin(), live.end(), [](const LiveMemory& a, const LiveMemory& b) { return a.bytes > b.bytes; });
    return live;
  }

 private:
  /// Expandable segments grow and shrink in pages of 2 MiB, so that nearly no reserved memory is free at the peak.
  static CachingAllocator::Rounding rounding_of(const Job& job) {
    const bool is_close = job.machine.device.is_processor || job.assumptions.expandable_segments;
    return is_close ? CachingAllocator::Rounding::none : CachingAllocator::Rounding::cuda;
  }
  Block allocate_one(Bytes bytes, MemoryItem item, int layer, double times) {
    if (stopped_) return {};
    const MemoryTally::Block tallied = tally_.allocate(bytes, item, layer, times);
    held_.push_back({allocator_.allocate(tallied.allocated), tallied, layer});
    if (!points_.empty()) {
      TimelinePoint& point = points_.back();
      if (const MemoryState now = tally_.mark(); now.allocated > point.allocated) {
        point.allocated = now.allocated;
        items_.back() = now.items;
      }
      point.reserved = max(point.reserved, allocator_.reserved());
    }
    if (tally_.peak().allocated > peak_) {
      peak_ = tally_.peak().allocated;
      peak_count_ = held_.size();
      peak_phase_ = phase_;
      peak_layer_ = layer_;
    }
    stopped_ = held_.size() == stop_at_;
    return {held_.size() - 1};
  }

  struct Held {
    std::size_t block = 0;
    MemoryTally::Block tallied;  ///< 0 bytes after it was freed
    int layer = -1;
  };

  MemoryTally tally_;
  CachingAllocator allocator_;
  std::vector<Held> held_;
  std::vector<TimelinePoint> points_;
  std::vector<std::array<Bytes, memory_item_count>> items_;  ///< items of each point
  std::size_t peak_count_ = 0, stop_at_ = nothing;
  Bytes peak_{};
  StepPhase phase_ = StepPhase::setup, peak_phase_ = StepPhase::setup;
  int layer_ = -1, peak_layer_ = -1;
  bool stopped_ = false;
};

/// Sends the requests of several steps to the record, which keeps the points of the last step.
void run_steps(MemoryRecord& record, const StageOf& stage, int steps) {
  const Plan& plan = stage.plan;
  const double in_flight = micro_batches_in_flight(plan.schedule, stage.stage, plan.mesh[Axis::pipeline],
                                                   passing_micro_batches(plan, stage.job.assumptions), plan.virtual_stages);
  const double in_mirror = stage.has_mirror() ? mirrored_in_flight(plan.schedule, stage.stage, plan.mesh[Axis::pipeline],
                                                                   static_cast<double>(plan.micro_batches))
                                              : 0.0;
  StageRequests requests(stage, record);
  StageRequests mirror(stage.has_mirror() ? stage.mirror() : stage, record);
  requests.set_up(false);
  if (const Bytes older = older_weights(stage); older > Bytes{}) (void)record.allocate(older, MemoryItem::weights, -1);
  if (const Bytes others(stage.job.assumptions.other_models); others > Bytes{})
    (void)record.allocate(others, MemoryItem::weights, -1);
  const Bytes saved = saved_weights(stage);
  for (int step = 0; step < steps; ++step) {
    record.forget_points();
    const auto before = record.mark();
    mirror.keep(in_mirror);
    const auto earlier = record.mark();
    requests.pass(in_flight - in_mirror);
    record.release(before, earlier);
    requests.update();
    if (saved <= Bytes{}) continue;
    auto whole = record.allocate(saved, MemoryItem::weights, -1);
    record.free(whole);
  }
}

}  // namespace

MemoryTimeline memory_timeline(const StageOf& stage, const TimelineOptions& options) {
  MemoryRecord record(stage.job, options.capacity);
  run_steps(record, stage, options.steps);
  MemoryTimeline timeline;
  timeline.peak = record.tally().peak();
  timeline.peak_phase = record.peak_phase();
  timeline.peak_layer = record.peak_layer();
  timeline.peak_reserved = record.allocator().peak_reserved();
  timeline.at_peak_reserved = record.allocator().at_peak_reserved();
  timeline.fits = record.allocator().fits();
  if (!options.details) return timeline;
  timeline.points = std::move(record.points());

  // The second pass makes the requests of the first pass again, up to the peak.
  MemoryRecord until(stage.job, options.capacity);
  until.stop_at(record.peak_count());
  run_steps(until, stage, options.steps);
  timeline.live_at_peak = until.live();
  return timeline;
}

std::vector<std::array<Bytes, memory_item_count>> memory_by_item(const StageOf& stage, const TimelineOptions& options) {
  MemoryRecord record(stage.job, options.capacity);
  run_steps(record, stage, options.steps);
  return std::move(record.items());
}

}  // namespace ddl
