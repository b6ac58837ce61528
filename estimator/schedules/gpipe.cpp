#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

std::vector<Slot> gpipe_slots(int stage, int /*stages*/, std::int64_t micro_batches, int /*chunks*/) {
  std::vector<Slot> slots;
  slots.reserve(static_cast<std::size_t>(micro_batches) * 3);
  for (std::int64_t i = 0; i < micro_batches; ++i) slots.push_back({stage, 0, SlotPass::forward, i});
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    slots.push_back({stage, 0, SlotPass::weight_gradient, i});
    slots.push_back({stage, 0, SlotPass::input_gradient, i});
  }
  return slots;
}

double gpipe_in_flight(int /*stage*/, int /*stages*/, double micro_batches, int /*chunks*/) { return micro_batches; }

BubbleShares gpipe_bubble(int /*stages*/, int /*chunks*/) { return {}; }

}  // namespace

/// GPipe: all micro-batches run forward, then all micro-batches run backward [Huang et al., GPipe, NeurIPS 2019].
const ScheduleOrder gpipe_order{Schedule::gpipe, "gpipe", gpipe_slots, gpipe_in_flight, gpipe_bubble};

}  // namespace ddl
