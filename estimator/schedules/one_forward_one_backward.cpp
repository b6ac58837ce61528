#include <algorithm>

#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// Returns the number of forwards that a stage runs before its first backward. Each model chunk counts separately.
std::int64_t warm_up_of(int stage, int stages, int chunks) {
  const std::int64_t behind = stages - 1 - stage;
  return chunks == 1 ? behind : 2 * behind + static_cast<std::int64_t>(chunks - 1) * stages;
}

std::vector<Slot> alternating_slots(int stage, int stages, std::int64_t micro_batches, int chunks) {
  std::vector<Slot> slots;
  const std::int64_t all = micro_batches * chunks;
  slots.reserve(static_cast<std::size_t>(all) * 3);
  // Micro-batches pass through all chunks in groups of as many micro-batches as there are stages. A
  // group passes through one chunk after the other.
  const std::int64_t group = static_cast<std::int64_t>(stages) * chunks;
  const auto chunk_of = [&](std::int64_t count) { return static_cast<int>(count % group / stages); };
  const auto micro_batch_of = [&](std::int64_t count) {
    return chunks == 1 ? count : count / group * stages + count % stages;
  };
  std::int64_t forward = 0;
  const auto do_forward = [&] {
    slots.push_back({stage, chunks == 1 ? 0 : chunk_of(forward), SlotPass::forward, micro_batch_of(forward)});
    ++forward;
  };
  const std::int64_t warm_up = std::min(warm_up_of(stage, stages, chunks), all);
  while (forward < warm_up) do_forward();
  for (std::int64_t backward = 0; backward < all; ++backward) {
    if (forward < all) do_forward();
    const int chunk = chunks == 1 ? 0 : chunks - 1 - chunk_of(backward);
    slots.push_back({stage, chunk, SlotPass::weight_gradient, micro_batch_of(backward)});
    slots.push_back({stage, chunk, SlotPass::input_gradient, micro_batch_of(backward)});
  }
  return slots;
}

/// With v chunks per stage, the first stage holds p·(1 + (p−1)/(p·v)) micro-batches [Kort22, section 4.2.3].
double alternating_in_flight(int stage, int stages, double micro_batches, int chunks) {
  const auto held = static_cast<double>(warm_up_of(stage, stages, chunks) + 1);
  return std::min(held, micro_batches * chunks) / chunks;
}

/// The longest stage waits for one chunk of each other stage [Nar21, section 2.2.2].
BubbleShares alternating_bubble(int /*stages*/, int chunks) { return {1.0 / chunks, 1.0 / chunks, 1.0 / chunks}; }

}  // namespace

/// 1F1B: a stage runs as many forwards as there are later stages, then one forward and one backward
/// in turn, then the remaining backwards [Narayanan et al., PipeDream, SOSP 2019; Nar21,
/// PipeDream-Flush]. With several model chunks on each stage, 1F1B is interleaved: a stage waits
/// for one chunk of the other stages, and not for all of their layers [Nar21, section 2.2].
const ScheduleOrder one_forward_one_backward_order{Schedule::one_forward_one_backward, "1f1b", alternating_slots,
                                                   alternating_in_flight, alternating_bubble};

}  // namespace ddl
