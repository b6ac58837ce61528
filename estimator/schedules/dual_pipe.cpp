#include <algorithm>
#include <array>
#include <deque>

#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// The slots of a stage that micro-batches pass in both directions. In direction 0, the stage is nearer to the start.
class BothWays {
 public:
  BothWays(int stage, bool mirrored, std::int64_t micro_batches)
      : stage_(stage), mirrored_(mirrored), half_(micro_batches / 2) {}

  void forward(int way, bool joined = false) { add(way, SlotPass::forward, next(forwards_, way), joined); }
  /// Computes the gradients of weights and of inputs together, because the next stage waits for both.
  void backward(int way) {
    const std::int64_t micro_batch = next(backwards_, way);
    add(way, SlotPass::weight_gradient, micro_batch, true);
    add(way, SlotPass::input_gradient, micro_batch);
  }
  void inputs(int way) {
    const std::int64_t micro_batch = next(backwards_, way);
    add(way, SlotPass::input_gradient, micro_batch);
    left_.push_back({way, micro_batch});
  }
  /// Computes the weight gradients that have been pending longest.
  void weights() {
    add(left_.front().way, SlotPass::weight_gradient, left_.front().micro_batch);
    left_.pop_front();
  }
  /// Runs a forward and a backward that overlap with each other.
  void together(int forward_way, int backward_way) {
    forward(forward_way, true);
    backward(backward_way);
  }
  [[nodiscard]] std::vector<Slot> take() { return std::move(slots_); }

 private:
  [[nodiscard]] static std::int64_t next(std::array<std::int64_t, 2>& counts, int way) {
    return counts[static_cast<std::size_t>(way)]++;
  }
  void add(int way, SlotPass pass, std::int64_t micro_batch, bool joined = false) {
    const int chunk = mirrored_ ? 1 - way : way;
    slots_.push_back({stage_, chunk, pass, micro_batch + (chunk == 1 ? half_ : 0), joined});
  }
  struct Left {
    int way = 0;
    std::int64_t micro_batch = 0;
  };
  int stage_;
  bool mirrored_;
  std::int64_t half_;
  std::array<std::int64_t, 2> forwards_{}, backwards_{};
  std::deque<Left> left_;
  std::vector<Slot> slots_;
};

/// The order follows [DSV3, section 3.2.1, Figure 5]. The authors' code, deepseek-ai/DualPipe, has the same eight phases.
std::vector<Slot> both_ways_slots(int stage, int stages, std::int64_t micro_batches, int /*chunks*/) {
  const int half = stages / 2, outer = std::min(stage, stages - 1 - stage), inner = half - 1 - outer;
  BothWays slots(stage, stage >= half, micro_batches);
  for (int i = 0; i < 2 * inner; ++i) slots.forward(0);
  for (int i = 0; i <= outer; ++i) {
    slots.forward(0);
    slots.forward(1);
  }
  for (int i = 0; i < inner; ++i) {
    slots.inputs(1);
    slots.weights();
    slots.forward(1);
  }
  for (std::int64_t i = 0; i < micro_batches / 2 - stages + outer + 1; ++i) {
    if (i == 0 && inner == 0) {
      // In the middle of the pipeline, both directions meet before any overlap is possible.
      slots.forward(0);
      slots.backward(1);
    } else {
      slots.together(0, 1);
    }
    slots.together(1, 0);
  }
  for (int i = 0; i < inner; ++i) {
    slots.backward(1);
    slots.together(1, 0);
  }
  // In the second half of the following slots, weight gradients are delayed.
  const int all = outer + 1;
  for (int i = 0; i < 2 * all; ++i) {
    const int way = i % 2 == 0 ? 1 : 0;
    if (i < all) {
      slots.backward(way);
    } else {
      slots.inputs(way);
    }
  }
  for (int i = 0; i < inner; ++i) {
    slots.weights();
    slots.inputs(0);
  }
  for (int i = 0; i < all; ++i) slots.weights();
  return slots.take();
}

double both_ways_in_flight(int /*stage*/, int stages, double micro_batches, int /*chunks*/) {
  return std::min(stages + 1.0, micro_batches);
}

/// The bubble is (p/2−1)(F&B + B − 3W), where B computes both gradients, and F&B is an overlapped
/// forward and backward [DSV3, Table 2]. Without overlap, F&B is F + B.
BubbleShares both_ways_bubble(int stages, int /*chunks*/) {
  const double waits = stages > 1 ? (stages / 2.0 - 1) / (stages - 1.0) : 0;
  return {waits, 2 * waits, -waits};
}

}  // namespace

// With two stages, each rank would have the whole model and train it on its own samples, which is data parallelism.

/// DualPipe: micro-batches enter at both ends of the pipeline, so each rank has two stages. The forward of one direction
/// overlaps with the backward of the other direction [DSV3, section 3.2.1].
const ScheduleOrder dual_pipe_order{.schedule = Schedule::dual_pipe,
                                    .name = "dualpipe",
                                    .slots = both_ways_slots,
                                    .in_flight = both_ways_in_flight,
                                    .bubble = both_ways_bubble,
                                    .course = Course::both_ways,
                                    .chunks = 2,
                                    .fills_bubbles = true,
                                    .keeps_two_parts = true,
                                    .multiple = 2,
                                    .fewest = 2,
                                    .fewest_stages = 4};

}  // namespace ddl
