#include <algorithm>

#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

std::vector<Slot> alternating_slots(int stage, int stages, std::int64_t micro_batches) {
  std::vector<Slot> slots;
  slots.reserve(static_cast<std::size_t>(micro_batches) * 3);
  std::int64_t forward = 0;
  const auto do_forward = [&] { slots.push_back({stage, 0, SlotPass::forward, forward++}); };
  const std::int64_t warm_up = std::min<std::int64_t>(stages - 1 - stage, micro_batches);
  while (forward < warm_up) do_forward();
  for (std::int64_t backward = 0; backward < micro_batches; ++backward) {
    if (forward < micro_batches) do_forward();
    slots.push_back({stage, 0, SlotPass::weight_gradient, backward});
    slots.push_back({stage, 0, SlotPass::input_gradient, backward});
  }
  return slots;
}

double alternating_in_flight(int stage, int stages, double micro_batches) {
  return std::min(static_cast<double>(stages - stage), micro_batches);
}

}  // namespace

/// As many forwards as there are stages behind, then one forward and one backward in turn, then the backwards that are left
/// [Narayanan et al., PipeDream, SOSP 2019; Nar21, PipeDream-Flush].
const ScheduleOrder one_forward_one_backward_order{Schedule::one_forward_one_backward, "1f1b", alternating_slots,
                                                   alternating_in_flight};

}  // namespace ddl
