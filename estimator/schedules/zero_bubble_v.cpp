#include <algorithm>
#include <array>

#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// The slots of a stage with two model chunks, each of which processes micro-batches in order.
class TwoChunks {
 public:
  TwoChunks(int stage, std::int64_t micro_batches) : stage_(stage), micro_batches_(micro_batches) {}
  void forward(int chunk) { add(chunk, SlotPass::forward); }
  void inputs(int chunk) { add(chunk, SlotPass::input_gradient); }
  void weights(int chunk) { add(chunk, SlotPass::weight_gradient); }
  void backward(int chunk) {
    inputs(chunk);
    weights(chunk);
  }
  [[nodiscard]] std::int64_t count(int chunk, SlotPass pass) const {
    return counts_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(pass)];
  }
  [[nodiscard]] std::vector<Slot> take() { return std::move(slots_); }

 private:
  void add(int chunk, SlotPass pass) {
    const std::int64_t micro_batch = counts_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(pass)]++;
    // If there are fewer micro-batches than the order needs, the remaining slots stay empty.
    if (micro_batch < micro_batches_) slots_.push_back({stage_, chunk, pass, micro_batch});
  }
  int stage_;
  std::int64_t micro_batches_;
  std::array<std::array<std::int64_t, 3>, 2> counts_{};
  std::vector<Slot> slots_;
};

/// Returns the order for passes of equal length. Until the first backward, a stage runs as many forwards as fit. Then the
/// stage repeats the six passes of its two chunks, and at the end runs the remaining weight gradients [Qi24, section 6].
std::vector<Slot> v_slots(int stage, int stages, std::int64_t micro_batches, int /*chunks*/) {
  TwoChunks slots(stage, micro_batches);
  const int behind = stages - stage;
  const std::int64_t all = std::max<std::int64_t>(micro_batches, 2 * static_cast<std::int64_t>(stages) - 1);
  for (int i = 0; i < 2 * behind - 1; ++i) slots.forward(0);
  for (int i = 0; i < stage; ++i) {
    slots.forward(1);
    slots.forward(0);
  }
  for (int i = 0; i < behind; ++i) {
    slots.forward(1);
    slots.backward(1);
  }
  while (slots.count(1, SlotPass::forward) < all) {
    if (slots.count(0, SlotPass::forward) < all) slots.forward(0);
    slots.backward(0);
    slots.forward(1);
    slots.backward(1);
  }
  for (int i = 0; i < stage; ++i) {
    slots.inputs(0);
    slots.inputs(1);
  }
  for (int i = 0; i < behind; ++i) slots.backward(0);
  for (const int chunk : {1, 0}) {
    while (slots.count(chunk, SlotPass::weight_gradient) < all) slots.weights(chunk);
  }
  return slots.take();
}

double v_in_flight(int /*stage*/, int stages, double micro_batches, int /*chunks*/) {
  return std::min(static_cast<double>(stages), micro_batches);
}

/// The bubble is zero if all passes take equally long [Qi24, section 6]. If input gradients take
/// longer than weight gradients, the bubble is (p−1)(B−W), because the first stage computes 2(p−1)
/// input gradients between the last forward and the remaining weight gradients.
BubbleShares v_shares(int /*stages*/, int /*chunks*/) { return {0, 1, -1}; }

}  // namespace

/// ZB-V: each stage has two model chunks. Micro-batches go from the first stage to the last stage
/// through the first chunks, and back through the second chunks. The first stage has the first and
/// the last layers, so backward begins on the stage where forward has ended [Qi24, section 6].
const ScheduleOrder zero_bubble_v_order{.schedule = Schedule::zero_bubble_v,
                                        .name = "zb-v",
                                        .slots = v_slots,
                                        .in_flight = v_in_flight,
                                        .bubble = v_shares,
                                        .course = Course::there_and_back,
                                        .chunks = 2,
                                        .fills_bubbles = true,
                                        .fewest = 2};

}  // namespace ddl
