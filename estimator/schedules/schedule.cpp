#include "estimator/schedules/schedule.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace ddl {
namespace {

constexpr std::array<const ScheduleOrder*, 2> orders{&one_forward_one_backward_order, &gpipe_order};

/// Does slots as soon as what they wait for has arrived.
class ScheduleRun {
 public:
  ScheduleRun(const ScheduleOrder& order, std::span<const StageSlots> times, std::int64_t micro_batches, int stretches)
      : times_(times), count_(static_cast<int>(times.size())), stretches_(stretches), micro_batches_(micro_batches) {
    const auto parts = static_cast<std::size_t>(micro_batches * stretches);
    for (int stage = 0; stage < count_; ++stage) {
      pending_.push_back(order.slots(stage, count_, micro_batches, stretches));
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
        throw Error("the schedule never comes to an end: stage " + std::to_string(stage + 1) +
                    " waits for what is not done before");
      }
    }
    return std::move(timeline_);
  }

 private:
  /// When something is where it is needed; nothing as long as it is not done.
  using Arrivals = std::vector<std::optional<Seconds>>;

  bool advance(int stage) {
    const auto at = static_cast<std::size_t>(stage);
    bool moved = false;
    for (; next_[at] < pending_[at].size(); ++next_[at]) {
      const Slot& slot = pending_[at][next_[at]];
      const std::optional<Seconds> ready = ready_at(slot);
      if (!ready) break;
      take(slot, *ready);
      moved = true;
    }
    return moved;
  }

  [[nodiscard]] std::optional<Seconds> ready_at(const Slot& slot) const {
    const auto at = static_cast<std::size_t>(slot.stage);
    const auto last = static_cast<std::size_t>(count_ - 1);
    switch (slot.pass) {
      case SlotPass::forward:
        if (is_first(slot)) return Seconds{};
        return slot.stage == 0 ? forward_[last][part(slot, slot.stretch - 1)] : forward_[at - 1][part(slot, slot.stretch)];
      case SlotPass::input_gradient:
      case SlotPass::weight_gradient:
        if (is_last(slot)) return forward_[at][part(slot, slot.stretch)];
        return slot.stage + 1 == count_ ? gradient_[0][part(slot, slot.stretch + 1)]
                                        : gradient_[at + 1][part(slot, slot.stretch)];
    }
    return std::nullopt;
  }

  /// Whether a slot is of the first or of the last layers of the model.
  [[nodiscard]] static bool is_first(const Slot& slot) { return slot.stage == 0 && slot.stretch == 0; }
  [[nodiscard]] bool is_last(const Slot& slot) const { return slot.stage + 1 == count_ && slot.stretch + 1 == stretches_; }
  [[nodiscard]] std::size_t part(const Slot& slot, int stretch) const {
    return static_cast<std::size_t>(stretch * micro_batches_ + slot.micro_batch);
  }

  void take(const Slot& slot, Seconds ready) {
    const auto at = static_cast<std::size_t>(slot.stage);
    const StageSlots& own = times_[at];
    Seconds work{}, sending{};
    switch (slot.pass) {
      case SlotPass::forward:
        work = own.forward;
        if (!is_last(slot)) sending = own.to_next;
        break;
      case SlotPass::input_gradient:
        work = own.input_gradient;
        if (!is_first(slot)) sending = own.to_previous;
        break;
      case SlotPass::weight_gradient:
        work = own.weight_gradient;
        break;
    }
    const Seconds begin = max(free_[at], ready);
    const Seconds end = begin + work;
    const Seconds arrival = end + sending;
    free_[at] = arrival;
    if (slot.pass == SlotPass::forward) forward_[at][part(slot, slot.stretch)] = arrival;
    if (slot.pass == SlotPass::input_gradient) gradient_[at][part(slot, slot.stretch)] = arrival;
    timeline_.stages[at].push_back({slot, begin, end, arrival});
  }

  std::span<const StageSlots> times_;
  int count_, stretches_;
  std::int64_t micro_batches_;
  std::vector<std::vector<Slot>> pending_;
  std::vector<std::size_t> next_;
  std::vector<Seconds> free_;
  std::vector<Arrivals> forward_, gradient_;
  PipelineTimeline timeline_;
};

}  // namespace

std::string_view to_string(SlotPass pass) {
  constexpr std::array<std::string_view, 3> names{"forward", "input_gradient", "weight_gradient"};
  return names[static_cast<std::size_t>(pass)];
}

std::span<const ScheduleOrder* const> all_schedules() { return orders; }

const ScheduleOrder& order_of(Schedule schedule) {
  return **std::find_if(orders.begin(), orders.end(),
                        [&](const ScheduleOrder* order) { return order->schedule == schedule; });
}

std::string_view to_string(Schedule schedule) { return order_of(schedule).name; }

std::optional<Schedule> parse_schedule(std::string_view text) {
  const auto found =
      std::find_if(orders.begin(), orders.end(), [&](const ScheduleOrder* order) { return order->name == text; });
  return found == orders.end() ? std::nullopt : std::optional((*found)->schedule);
}

double micro_batches_in_flight(Schedule schedule, int stage, int stages, double micro_batches, int stretches) {
  return stages == 1 ? 1.0 : order_of(schedule).in_flight(stage, stages, micro_batches, stretches);
}

Seconds PipelineTimeline::length() const {
  Seconds last{};
  for (const std::vector<TimedSlot>& stage : stages) {
    for (const TimedSlot& slot : stage) last = max(last, slot.arrival);
  }
  return last;
}

Seconds PipelineTimeline::bubble(int stage) const {
  Seconds busy{};
  for (const TimedSlot& slot : stages[static_cast<std::size_t>(stage)]) busy += slot.arrival - slot.begin;
  return length() - busy;
}

std::int64_t PipelineTimeline::most_in_flight(int stage) const {
  std::int64_t now = 0, most = 0;
  std::set<std::pair<int, std::int64_t>> half_done;  // stretch and micro-batch
  for (const TimedSlot& timed : stages[static_cast<std::size_t>(stage)]) {
    if (timed.slot.pass == SlotPass::forward) {
      most = std::max(most, ++now);
    } else if (!half_done.emplace(timed.slot.stretch, timed.slot.micro_batch).second) {
      --now;  // both of its gradients are there
    }
  }
  return most;
}

PipelineTimeline run_schedule(const ScheduleOrder& order, std::span<const StageSlots> stages, std::int64_t micro_batches,
                              int stretches) {
  return ScheduleRun(order, stages, micro_batches, stretches).run();
}

Seconds uniform_length(std::span<const StageSlots> stages, std::int64_t micro_batches) {
  Seconds all{}, longest{}, on{}, back{};
  for (const StageSlots& stage : stages) {
    const Seconds time = stage.forward + stage.input_gradient + stage.weight_gradient;
    all += time;
    longest = max(longest, time);
  }
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    on = max(on, stages[i].to_next);
    back = max(back, stages[i + 1].to_previous);
  }
  const double others = static_cast<double>(micro_batches) - 1.0;
  const double hops =
      stages.size() > 1 ? static_cast<double>(stages.size()) + static_cast<double>(micro_batches) - 2.0 : 0.0;
  return all + longest * others + (on + back) * hops;
}

}  // namespace ddl
