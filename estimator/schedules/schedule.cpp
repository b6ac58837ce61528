#include "estimator/schedules/schedule.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/enum_array.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

constexpr EnumArray<Schedule, const ScheduleOrder*> orders{&one_forward_one_backward_order, &gpipe_order, &zero_bubble_order,
                                                           &zero_bubble_v_order, &dual_pipe_order};

/// Simulates the slots of all stages. Each slot runs as soon as its inputs have arrived.
class ScheduleRun {
 public:
  ScheduleRun(const ScheduleOrder& order, std::span<const StageSlots> times, std::int64_t micro_batches, int chunks)
      : course_(order.course),
        times_(times),
        count_(static_cast<int>(times.size())),
        chunks_(chunks),
        micro_batches_(micro_batches) {
    const auto parts = static_cast<std::size_t>(micro_batches * chunks);
    for (int stage = 0; stage < count_; ++stage) {
      pending_.push_back(order.slots(stage, count_, micro_batches, chunks));
      forward_.emplace_back(parts);
      gradient_.emplace_back(parts);
    }
    next_.resize(times.size());
    free_.resize(times.size());
    timeline_.stages.resize(times.size());
  }

  PipelineTimeline run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int stage = 0; stage < count_; ++stage) moved = advance(stage) || moved;
    }
    for (int stage = 0; stage < count_; ++stage) {
      const auto at = static_cast<std::size_t>(stage);
      if (next_[at] < pending_[at].size()) {
        throw Error("the schedule never ends: stage " + std::to_string(stage + 1) +
                    " waits for a result that is never computed");
      }
    }
    return std::move(timeline_);
  }

 private:
  /// The arrival times of results; empty until the results are computed.
  using Arrivals = std::vector<std::optional<Seconds>>;

  /// A model chunk of a stage, as the place of a slot's layers.
  struct Place {
    int stage = 0, chunk = 0;
  };

  bool advance(int stage) {
    const auto at = static_cast<std::size_t>(stage);
    const std::vector<Slot>& slots = pending_[at];
    bool moved = false;
    while (next_[at] < slots.size()) {
      std::size_t end = next_[at] + 1;
      while (slots[end - 1].joined) ++end;
      const std::span<const Slot> together(&slots[next_[at]], end - next_[at]);
      Seconds ready{};
      for (const Slot& slot : together) {
        const std::optional<Seconds> own = ready_at(slot);
        if (!own) return moved;
        ready = max(ready, *own);
      }
      take(together, ready);
      next_[at] = end;
      moved = true;
    }
    return moved;
  }

  [[nodiscard]] std::optional<Seconds> ready_at(const Slot& slot) const {
    if (slot.pass == SlotPass::forward) {
      const std::optional<Place> before = this->before(slot);
      return before ? arrival(forward_, *before, slot.micro_batch) : Seconds{};
    }
    const std::optional<Place> behind = this->behind(slot);
    return behind ? arrival(gradient_, *behind, slot.micro_batch) : arrival(forward_, place(slot), slot.micro_batch);
  }

  [[nodiscard]] static Place place(const Slot& slot) { return {slot.stage, slot.chunk}; }
  /// Returns the model chunk before the layers of a slot; empty if the slot has the first layers.
  [[nodiscard]] std::optional<Place> before(const Slot& slot) const {
    const int last = count_ - 1;
    const bool returns = course_ != Course::around && slot.chunk == 1;
    if (returns ? slot.stage < last : slot.stage > 0) return Place{slot.stage + (returns ? 1 : -1), slot.chunk};
    if (slot.chunk == 0 || course_ == Course::both_ways) return std::nullopt;
    return course_ == Course::around ? Place{last, slot.chunk - 1} : Place{slot.stage, 0};
  }
  /// Returns the model chunk after the layers of a slot; empty if the slot has the last layers.
  [[nodiscard]] std::optional<Place> behind(const Slot& slot) const {
    const int last = count_ - 1;
    const bool returns = course_ != Course::around && slot.chunk == 1;
    if (returns ? slot.stage > 0 : slot.stage < last) return Place{slot.stage + (returns ? -1 : 1), slot.chunk};
    if (slot.chunk + 1 == chunks_ || course_ == Course::both_ways) return std::nullopt;
    return course_ == Course::around ? Place{0, slot.chunk + 1} : Place{slot.stage, 1};
  }

  [[nodiscard]] std::size_t part(int chunk, std::int64_t micro_batch) const {
    return static_cast<std::size_t>(chunk * micro_batches_ + micro_batch);
  }
  [[nodiscard]] std::optional<Seconds> arrival(const std::vector<Arrivals>& of, const Place& at,
                                               std::int64_t micro_batch) const {
    return of[static_cast<std::size_t>(at.stage)][part(at.chunk, micro_batch)];
  }

  [[nodiscard]] Seconds work_of(const Slot& slot) const {
    const StageSlots& own = times_[static_cast<std::size_t>(slot.stage)];
    switch (slot.pass) {
      case SlotPass::forward:
        return own.forward;
      case SlotPass::input_gradient:
        return own.input_gradient;
      case SlotPass::weight_gradient:
        break;
    }
    return own.weight_gradient;
  }
  /// Returns the time to send the result of a slot. A stage sends nothing to itself.
  [[nodiscard]] Seconds sending_of(const Slot& slot) const {
    const StageSlots& own = times_[static_cast<std::size_t>(slot.stage)];
    const auto leaves = [&](const std::optional<Place>& to) { return to && to->stage != slot.stage; };
    if (slot.pass == SlotPass::forward && leaves(behind(slot))) return own.to_next;
    if (slot.pass == SlotPass::input_gradient && leaves(before(slot))) return own.to_previous;
    return {};
  }

  void take(std::span<const Slot> together, Seconds ready) {
    const auto at = static_cast<std::size_t>(together.front().stage);
    Seconds now = max(free_[at], ready), sending{};
    for (const Slot& slot : together) {
      const Seconds begin = now;
      now += work_of(slot);
      sending += sending_of(slot);
      timeline_.stages[at].push_back({slot, begin, now, now});
    }
    free_[at] = timeline_.stages[at].back().arrival = now + sending;
    for (const Slot& slot : together) {
      if (slot.pass == SlotPass::forward) forward_[at][part(slot.chunk, slot.micro_batch)] = free_[at];
      if (slot.pass == SlotPass::input_gradient) gradient_[at][part(slot.chunk, slot.micro_batch)] = free_[at];
    }
  }

  Course course_;
  std::span<const StageSlots> times_;
  int count_, chunks_;
  std::int64_t micro_batches_;
  std::vector<std::vector<Slot>> pending_;
  std::vector<std::size_t> next_;
  std::vector<Seconds> free_;
  std::vector<Arrivals> forward_, gradient_;
  PipelineTimeline timeline_;
};

}  // namespace

std::span<const ScheduleOrder* const> all_schedules() { return orders; }

const ScheduleOrder& order_of(Schedule schedule) {
  return **std::find_if(orders.begin(), orders.end(),
                        [&](const ScheduleOrder* order) { return order->schedule == schedule; });
}

std::string_view to_string(Schedule schedule) { return order_of(schedule).name; }

double micro_batches_in_flight(Schedule schedule, int stage, int stages, double micro_batches, int chunks) {
  return stages == 1 ? 1.0 : order_of(schedule).in_flight(stage, stages, micro_batches, chunks);
}

double mirrored_in_flight(Schedule schedule, int stage, int stages, double micro_batches) {
  // A stage holds p − i micro-batches of its own direction, as with 1F1B. The mirror stage of stage i is stage p − 1 − i.
  if (stages == 1 || !order_of(schedule).keeps_two_parts) return 0;
  return std::min(stage + 1.0, micro_batches / 2);
}

Seconds PipelineTimeline::length() const {
  Seconds last{};
  for (const std::vector<TimedSlot>& stage : stages) {
    for (const TimedSlot& slot : stage) last = max(last, slot.arrival);
  }
  return last;
}

PipelineTimeline run_schedule(const ScheduleOrder& order, std::span<const StageSlots> stages, std::int64_t micro_batches,
                              int chunks) {
  return ScheduleRun(order, stages, micro_batches, chunks * order.chunks).run();
}

}  // namespace ddl
