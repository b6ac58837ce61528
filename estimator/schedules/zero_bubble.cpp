#include <algorithm>

#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// Stage i runs weight gradients i micro-batches after the input gradients, so that all stages hold
/// the same number of micro-batches [Qi24, section 2.2].
std::vector<Slot> zero_bubble_slots(int stage, int stages, std::int64_t micro_batches, int /*chunks*/) {
  std::vector<Slot> slots;
  slots.reserve(static_cast<std::size_t>(micro_batches) * 3);
  std::int64_t forward = 0, weights = 0;
  const auto add = [&](SlotPass pass, std::int64_t micro_batch) { slots.push_back({stage, 0, pass, micro_batch}); };
  const std::int64_t warm_up = std::min<std::int64_t>(stages - 1 - stage, micro_batches);
  while (forward < warm_up) add(SlotPass::forward, forward++);
  for (std::int64_t inputs = 0; inputs < micro_batches; ++inputs) {
    if (forward < micro_batches) add(SlotPass::forward, forward++);
    add(SlotPass::input_gradient, inputs);
    if (inputs >= stage) add(SlotPass::weight_gradient, weights++);
  }
  while (weights < micro_batches) add(SlotPass::weight_gradient, weights++);
  return slots;
}

double zero_bubble_in_flight(int /*stage*/, int stages, double micro_batches, int /*chunks*/) {
  return std::min(static_cast<double>(stages), micro_batches);
}

/// The bubble is (p−1)(F+B−W) [Qi24, Table 2].
BubbleShares zero_bubble_shares(int /*stages*/, int /*chunks*/) { return {1, 1, -1}; }

}  // namespace

/// ZB-H1: like 1F1B, but weight gradients are delayed until the stage would be idle [Qi24, section 2.2].
const ScheduleOrder zero_bubble_order{.schedule = Schedule::zero_bubble,
                                      .name = "zb-h1",
                                      .slots = zero_bubble_slots,
                                      .in_flight = zero_bubble_in_flight,
                                      .bubble = zero_bubble_shares,
                                      .fills_bubbles = true,
                                      .fewest = 1};

}  // namespace ddl
