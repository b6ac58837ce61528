#include "estimator/schedules/schedule.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"

namespace {

using namespace ddl;

TEST_CASE("GPipe holds all micro-batches, 1F1B one per stage up to the last stage, and a single stage holds one") {
  using enum Schedule;
  for (const int stage : {0, 1, 3}) CHECK(micro_batches_in_flight(gpipe, stage, 4, 8) == 8);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 0, 4, 8) == 4);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 1, 4, 8) == 3);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 3, 4, 8) == 1);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 0, 4, 2) == 2);
  // Without a pipeline, each micro-batch runs forward and then backward.
  CHECK(micro_batches_in_flight(gpipe, 0, 1, 8) == 1);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 0, 1, 8) == 1);
}

using Stages = std::vector<StageSlots>;

/// Returns the time between the start and the end of the step in which the stage neither computes nor sends.
Seconds bubble_of(const PipelineTimeline& timeline, int stage) {
  Seconds busy{};
  for (const TimedSlot& slot : timeline.stages[static_cast<std::size_t>(stage)]) busy += slot.arrival - slot.begin;
  return timeline.length() - busy;
}

/// Returns the longest time that any stage takes from the start of its first slot to the end of its last slot. Steps
/// follow each other at this interval if no stage waits for other stages before it updates its weights [Qi24, section 4].
Seconds longest_stage(const PipelineTimeline& timeline) {
  Seconds longest{};
  for (const std::vector<TimedSlot>& stage : timeline.stages) {
    if (!stage.empty()) longest = max(longest, stage.back().arrival - stage.front().begin);
  }
  return longest;
}

/// Returns the largest number of micro-batches that are in flight on a stage, counted separately in each model chunk. A
/// micro-batch is in flight from the start of its forward until both gradients are computed.
std::int64_t most_in_flight(const PipelineTimeline& timeline, int stage) {
  std::int64_t now = 0, most = 0;
  std::set<std::pair<int, std::int64_t>> half_done;  // model chunk and micro-batch with one of two gradients done
  for (const TimedSlot& timed : timeline.stages[static_cast<std::size_t>(stage)]) {
    if (timed.slot.pass == SlotPass::forward) {
      most = std::max(most, ++now);
    } else if (!half_done.emplace(timed.slot.chunk, timed.slot.micro_batch).second) {
      --now;  // both gradients of this chunk and micro-batch are done
    }
  }
  return most;
}

/// Returns the slots of each stage as a line. `F1` is the forward of the first micro-batch, `B1` the gradient of its input,
/// and `W1` the gradient of its weights. Small letters denote the second model chunk.
std::vector<std::string> drawn(const PipelineTimeline& timeline) {
  constexpr std::array<std::string_view, 2> letters{"FBW", "fbw"};
  std::vector<std::string> lines;
  for (const std::vector<TimedSlot>& stage : timeline.stages) {
    std::string& line = lines.emplace_back();
    for (const TimedSlot& timed : stage) {
      if (!line.empty()) line += ' ';
      line += letters[timed.slot.chunk == 0 ? 0 : 1][static_cast<std::size_t>(timed.slot.pass)];
      line += std::to_string(timed.slot.micro_batch + 1);
    }
  }
  return lines;
}

/// Returns the length of the timeline by a closed form. The first micro-batch passes all stages, the others follow at the
/// pace of the longest stage, and transfers take 2(p+S−2) hops [ParaDL, Table III; Nar21]. If all stages are equal, the
/// closed form equals the length with GPipe. If, in addition, transfers take no time, it also equals the length with 1F1B.
Seconds uniform_length(const std::vector<StageSlots>& stages, std::int64_t micro_batches) {
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

Stages equal_stages(int count, double forward, double input_gradient, double weight_gradient, double hop) {
  return Stages(static_cast<std::size_t>(count),
                StageSlots{Seconds(forward), Seconds(input_gradient), Seconds(weight_gradient), Seconds(hop), Seconds(hop)});
}

TEST_CASE("schedules are printed by their names") {
  for (const ScheduleOrder* order : all_schedules()) CHECK(to_string(order->schedule) == order->name);
}

TEST_CASE("every stage runs each pass of each micro-batch once") {
  for (const ScheduleOrder* order : all_schedules()) {
    for (const int stages : {1, 2, 3, 8}) {
      for (const std::int64_t micro_batches : {1, 2, 5, 16}) {
        for (int stage = 0; stage < stages; ++stage) {
          if (!order->takes(stages, micro_batches) || (stages == 1 && order->multiple > 1)) continue;
          INFO(order->name << ", stage " << stage << " of " << stages << ", " << micro_batches << " micro-batches");
          const bool both_ways = order->course == Course::both_ways;
          std::set<std::tuple<int, int, std::int64_t>> seen;
          for (const Slot& slot : order->slots(stage, stages, micro_batches, order->chunks)) {
            CHECK(slot.stage == stage);
            CHECK((slot.chunk >= 0 && slot.chunk < order->chunks));
            CHECK((slot.micro_batch >= 0 && slot.micro_batch < micro_batches));
            // A micro-batch goes in one of the two directions.
            if (both_ways) CHECK((slot.chunk == 1) == (slot.micro_batch >= micro_batches / 2));
            CHECK(seen.emplace(static_cast<int>(slot.pass), slot.chunk, slot.micro_batch).second);
          }
          CHECK(seen.size() == static_cast<std::size_t>(3 * micro_batches * (both_ways ? 1 : order->chunks)));
        }
      }
    }
  }
}

TEST_CASE("for equal stages without transfers, slots and closed form agree for every schedule that fills no bubbles") {
  for (const ScheduleOrder* order : all_schedules()) {
    if (order->fills_bubbles) continue;
    for (const int stages : {1, 2, 3, 4, 7, 16}) {
      for (const std::int64_t micro_batches : {1, 2, 3, 4, 9, 32}) {
        const Stages times = equal_stages(stages, 1.0, 0.75, 1.25, 0.0);
        const PipelineTimeline timeline = run_schedule(*order, times, micro_batches);
        INFO(order->name << ", " << stages << " stages, " << micro_batches << " micro-batches");
        // There are p+S-1 slots of 3 s, of which S are not bubble [Nar21, section 2.2.1].
        CHECK(timeline.length().value() == Approx(3.0 * static_cast<double>(stages + micro_batches - 1)));
        CHECK(uniform_length(times, micro_batches).value() == Approx(timeline.length().value()));
        for (int stage = 0; stage < stages; ++stage) {
          CHECK(bubble_of(timeline, stage).value() == Approx(3.0 * (stages - 1)).margin(1e-9));
        }
      }
    }
  }
}

/// Returns the bubble of equal stages by the closed form of a schedule. Times are those of one micro-batch in a whole stage.
double closed_bubble(const ScheduleOrder& order, int stages, const StageSlots& stage) {
  const BubbleShares shares = order.bubble(stages, 1);
  const double waits = shares.forward * stage.forward.value() + shares.input_gradient * stage.input_gradient.value() +
                       shares.weight_gradient * stage.weight_gradient.value();
  return std::max(0.0, (stages - 1) * waits);
}

/// Returns the bubble of equal stages by the list of slots. The times of a stage are divided among its model chunks.
double listed_bubble(const ScheduleOrder& order, int stages, std::int64_t micro_batches, const StageSlots& stage) {
  const double parts = order.course == Course::there_and_back ? order.chunks : 1;
  const Stages times = equal_stages(stages, stage.forward.value() / parts, stage.input_gradient.value() / parts,
                                    stage.weight_gradient.value() / parts, 0);
  const double work =
      (stage.forward + stage.input_gradient + stage.weight_gradient).value() * static_cast<double>(micro_batches);
  return longest_stage(run_schedule(order, times, micro_batches)).value() - work;
}

TEST_CASE("the bubble of ZB-H1 is (p-1)(F+B-W), unless gradients of weights take longest") {
  // The formula is in [Qi24, Table 2]. If weight gradients take longer than the rest, there is no bubble left to fill.
  for (const int stages : {2, 3, 4, 8, 16}) {
    for (const std::int64_t micro_batches : {stages, stages + 1, 3 * stages}) {
      for (const StageSlots& stage :
           {StageSlots{Seconds(1), Seconds(1), Seconds(1)}, StageSlots{Seconds(1), Seconds(1.25), Seconds(0.75)},
            StageSlots{Seconds(2), Seconds(2), Seconds(1.5)}}) {
        INFO(stages << " stages, " << micro_batches << " micro-batches");
        const double published = (stages - 1) * (stage.forward + stage.input_gradient - stage.weight_gradient).value();
        CHECK(closed_bubble(zero_bubble_order, stages, stage) == Approx(published));
        CHECK(listed_bubble(zero_bubble_order, stages, micro_batches, stage) == Approx(published));
      }
    }
  }
}

TEST_CASE("ZB-V has no bubble if all passes take equally long, otherwise (p-1)(B-W)") {
  for (const int stages : {2, 3, 4, 8, 16}) {
    for (const std::int64_t micro_batches : {2 * stages, 3 * stages + 1}) {
      INFO(stages << " stages, " << micro_batches << " micro-batches");
      // The formula is in [Qi24, section 6].
      const StageSlots alike{Seconds(1), Seconds(1), Seconds(1)};
      CHECK(closed_bubble(zero_bubble_v_order, stages, alike) == 0);
      CHECK(listed_bubble(zero_bubble_v_order, stages, micro_batches, alike) == Approx(0).margin(1e-9));
      const StageSlots attention{Seconds(1), Seconds(1.25), Seconds(0.75)};
      CHECK(closed_bubble(zero_bubble_v_order, stages, attention) == Approx(0.5 * (stages - 1)));
      CHECK(listed_bubble(zero_bubble_v_order, stages, micro_batches, attention) == Approx(0.5 * (stages - 1)));
    }
  }
}

TEST_CASE("the bubble of DualPipe is (p/2-1)(F&B+B-3W), and no longer if the passes of a stage differ") {
  for (const int stages : {2, 4, 6, 8, 16}) {
    for (const std::int64_t micro_batches : {2 * stages, 2 * stages + 2, 5 * stages}) {
      INFO(stages << " stages, " << micro_batches << " micro-batches");
      const auto published = [&](const StageSlots& stage) {
        const Seconds backward = stage.input_gradient + stage.weight_gradient;
        return (stages / 2.0 - 1) * (stage.forward + backward + backward - stage.weight_gradient * 3.0).value();
      };
      // The formula is in [DSV3, Table 2], where a forward and a backward together take F+B.
      const StageSlots alike{Seconds(1), Seconds(1), Seconds(1)};
      CHECK(closed_bubble(dual_pipe_order, stages, alike) == Approx(published(alike)).margin(1e-12));
      CHECK(listed_bubble(dual_pipe_order, stages, micro_batches, alike) == Approx(published(alike)).margin(1e-9));
      const StageSlots attention{Seconds(1), Seconds(1.25), Seconds(0.75)};
      CHECK(closed_bubble(dual_pipe_order, stages, attention) == Approx(published(attention)).margin(1e-12));
      CHECK(listed_bubble(dual_pipe_order, stages, micro_batches, attention) <= published(attention) + 1e-9);
    }
  }
}

TEST_CASE("for equal stages with transfers, GPipe has the hops of the closed form, and 1F1B at most as many") {
  for (const int stages : {2, 3, 4, 8}) {
    for (const std::int64_t micro_batches : {1, 2, 4, 7, 16}) {
      for (const double hop : {0.01, 0.1, 0.5}) {
        const Stages times = equal_stages(stages, 1, 1, 1, hop);
        const double closed = uniform_length(times, micro_batches).value();
        CHECK(run_schedule(gpipe_order, times, micro_batches).length().value() == Approx(closed));
        const double alternating = run_schedule(one_forward_one_backward_order, times, micro_batches).length().value();
        CHECK(alternating <= closed + 1e-9);
        // The time is at least all the work of a stage, plus the passage of one micro-batch through the other stages and
        // back.
        CHECK(alternating >= 3.0 * static_cast<double>(stages + micro_batches - 1) + 2.0 * (stages - 1) * hop - 1e-9);
      }
    }
  }
}

TEST_CASE("for unequal stages, GPipe takes the longest forward and backward for each further micro-batch") {
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> seconds(0.1, 2.0);
  for (int round = 0; round < 200; ++round) {
    Stages times(static_cast<std::size_t>(1 + round % 6));
    double all = 0, forward = 0, backward = 0;
    for (StageSlots& stage : times) {
      stage = {Seconds(seconds(engine)), Seconds(seconds(engine)), Seconds(seconds(engine))};
      const double back = (stage.input_gradient + stage.weight_gradient).value();
      all += stage.forward.value() + back;
      forward = std::max(forward, stage.forward.value());
      backward = std::max(backward, back);
    }
    const std::int64_t micro_batches = 1 + round % 9;
    const double length = run_schedule(gpipe_order, times, micro_batches).length().value();
    CHECK(length == Approx(all + static_cast<double>(micro_batches - 1) * (forward + backward)));
    // If one stage is the longest in both passes, the closed form is a lower bound.
    CHECK(uniform_length(times, micro_batches).value() <= length + 1e-9);
  }
}

TEST_CASE("under any schedule, a stage takes at least its own work and the passage of one micro-batch") {
  std::mt19937 engine(11);
  std::uniform_real_distribution<double> seconds(0.0, 2.0);
  for (int round = 0; round < 200; ++round) {
    Stages times(static_cast<std::size_t>(1 + round % 7));
    double way = 0, longest = 0, weights = 0;
    const std::int64_t micro_batches = 1 + round % 11;
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i] = {Seconds(seconds(engine)), Seconds(seconds(engine)), Seconds(seconds(engine)), Seconds(seconds(engine)),
                  Seconds(seconds(engine))};
      const StageSlots& stage = times[i];
      const double work = (stage.forward + stage.input_gradient + stage.weight_gradient).value();
      const double sent = (i + 1 < times.size() ? stage.to_next.value() : 0) + (i > 0 ? stage.to_previous.value() : 0);
      way += work + sent;
      weights += stage.weight_gradient.value();
      longest = std::max(longest, (work + sent) * static_cast<double>(micro_batches));
    }
    for (const ScheduleOrder* order : all_schedules()) {
      // Micro-batches that pass a stage twice, or start at the other end, take other paths.
      if (order->course != Course::around) continue;
      const PipelineTimeline timeline = run_schedule(*order, times, micro_batches);
      // On the way back, a micro-batch need not wait for weight gradients.
      CHECK(timeline.length().value() >= std::max(order->fills_bubbles ? way - weights : way, longest) - 1e-9);
      for (const std::vector<TimedSlot>& stage : timeline.stages) {
        for (std::size_t i = 1; i < stage.size(); ++i) CHECK(stage[i].begin >= stage[i - 1].arrival);
      }
    }
  }
}

TEST_CASE("a stage holds as many micro-batches as in the closed form of its schedule") {
  for (const ScheduleOrder* order : all_schedules()) {
    for (const int stages : {1, 2, 4, 9}) {
      for (const std::int64_t micro_batches : {1, 3, 8, 20}) {
        if (!order->takes(stages, micro_batches) || (stages == 1 && order->chunks > 1)) continue;
        INFO(order->name << ", " << stages << " stages, " << micro_batches << " micro-batches");
        const PipelineTimeline timeline = run_schedule(*order, equal_stages(stages, 1, 1, 1, 0.1), micro_batches);
        const double parts = order->course == Course::there_and_back ? order->chunks : 1;
        for (int stage = 0; stage < stages; ++stage) {
          CHECK(static_cast<double>(most_in_flight(timeline, stage)) / parts ==
                order->in_flight(stage, stages, static_cast<double>(micro_batches), 1));
        }
      }
    }
  }
}

TEST_CASE(
    "interleaved stages do each pass of each micro-batch once in each virtual stage, and keep what the closed form says") {
  for (const int chunks : {2, 3, 4}) {
    for (const int stages : {2, 4, 5}) {
      for (const std::int64_t rounds : {1, 2, 4}) {
        const std::int64_t micro_batches = rounds * stages;
        const Stages times = equal_stages(stages, 1, 1, 1, 0);
        const PipelineTimeline timeline = run_schedule(one_forward_one_backward_order, times, micro_batches, chunks);
        INFO(stages << " stages of " << chunks << " chunks, " << micro_batches << " micro-batches");
        for (int stage = 0; stage < stages; ++stage) {
          std::set<std::tuple<int, int, std::int64_t>> seen;
          for (const TimedSlot& timed : timeline.stages[static_cast<std::size_t>(stage)]) {
            CHECK((timed.slot.chunk >= 0 && timed.slot.chunk < chunks));
            CHECK((timed.slot.micro_batch >= 0 && timed.slot.micro_batch < micro_batches));
            seen.emplace(static_cast<int>(timed.slot.pass), timed.slot.chunk, timed.slot.micro_batch);
          }
          CHECK(seen.size() == static_cast<std::size_t>(3 * chunks * micro_batches));
          CHECK(static_cast<double>(most_in_flight(timeline, stage)) / chunks ==
                Approx(micro_batches_in_flight(Schedule::one_forward_one_backward, stage, stages,
                                               static_cast<double>(micro_batches), chunks)));
        }
      }
    }
  }
  // The first stage holds p·(1 + (p−1)/(p·v)) micro-batches [Kort22, section 4.2.3].
  CHECK(micro_batches_in_flight(Schedule::one_forward_one_backward, 0, 8, 64, 3) == Approx(8 * (1 + 7.0 / 24)));
}

TEST_CASE("v virtual stages divide the bubble of equal stages by v") {
  for (const int chunks : {1, 2, 3, 6}) {
    for (const int stages : {2, 4, 8}) {
      for (const std::int64_t rounds : {1, 2, 5}) {
        const std::int64_t micro_batches = rounds * stages;
        // A model chunk has a share of the work of a stage: forward 1, backward 2.
        const Stages times = equal_stages(stages, 1.0 / chunks, 0.75 / chunks, 1.25 / chunks, 0.0);
        const PipelineTimeline timeline = run_schedule(one_forward_one_backward_order, times, micro_batches, chunks);
        INFO(stages << " stages of " << chunks << " chunks, " << micro_batches << " micro-batches");
        // The bubble is (p−1)/v of the time of one micro-batch [Nar21, section 2.2.2].
        const double bubble = 3.0 * (stages - 1) / chunks;
        CHECK(timeline.length().value() == Approx(3.0 * static_cast<double>(micro_batches) + bubble));
        for (int stage = 0; stage < stages; ++stage) CHECK(bubble_of(timeline, stage).value() == Approx(bubble));
      }
    }
  }
}

TEST_CASE("the timeline of 4 interleaved stages equals the published timeline") {
  // The figure is [Nar21, Figure 4, below], with 8 micro-batches in 2 model chunks of 4 stages:
  // forwards and backwards of the first device, with the second chunk in capitals.
  std::string drawn;
  for (const Slot& slot : one_forward_one_backward_order.slots(0, 4, 8, 2)) {
    if (slot.pass == SlotPass::weight_gradient) continue;
    const bool forward = slot.pass == SlotPass::forward;
    drawn += (drawn.empty() ? "" : " ") +
             std::string(forward ? (slot.chunk == 0 ? "f" : "F") : (slot.chunk == 0 ? "b" : "B")) +
             std::to_string(slot.micro_batch + 1);
  }
  CHECK(drawn == "f1 f2 f3 f4 F1 F2 F3 F4 f5 f6 f7 B1 f8 B2 F5 B3 F6 B4 F7 b1 F8 b2 b3 b4 B5 B6 B7 B8 b5 b6 b7 b8");
}

/// Returns the order of every stage, as in a figure.
std::vector<std::string> figure(const ScheduleOrder& order, int stages, std::int64_t micro_batches) {
  return drawn(run_schedule(order, equal_stages(stages, 1, 1, 1, 0), micro_batches));
}

TEST_CASE("four stages of 1F1B run their slots in the published order") {
  // In [Nar21, Figure 4, above], the first stage has three forwards before the first pair, and the last stage has none.
  const std::vector<std::string> lines = figure(one_forward_one_backward_order, 4, 8);
  CHECK(lines[0] == "F1 F2 F3 F4 W1 B1 F5 W2 B2 F6 W3 B3 F7 W4 B4 F8 W5 B5 W6 B6 W7 B7 W8 B8");
  CHECK(lines[3] == "F1 W1 B1 F2 W2 B2 F3 W3 B3 F4 W4 B4 F5 W5 B5 F6 W6 B6 F7 W7 B7 F8 W8 B8");
}

TEST_CASE("four stages of ZB-H1 run their slots in the published order") {
  // In [Qi24, Figure 3, above], B is the gradient of the input, and W that of the weights. In stage i, W comes i
  // micro-batches later than B, so that each stage has the same number of micro-batches in flight (section 2.2).
  CHECK(figure(zero_bubble_order, 4, 8) ==
        std::vector<std::string>{"F1 F2 F3 F4 B1 W1 F5 B2 W2 F6 B3 W3 F7 B4 W4 F8 B5 W5 B6 W6 B7 W7 B8 W8",
                                 "F1 F2 F3 B1 F4 B2 W1 F5 B3 W2 F6 B4 W3 F7 B5 W4 F8 B6 W5 B7 W6 B8 W7 W8",
                                 "F1 F2 B1 F3 B2 F4 B3 W1 F5 B4 W2 F6 B5 W3 F7 B6 W4 F8 B7 W5 B8 W6 W7 W8",
                                 "F1 B1 F2 B2 F3 B3 F4 B4 W1 F5 B5 W2 F6 B6 W3 F7 B7 W4 F8 B8 W5 W6 W7 W8"});
}

TEST_CASE("four stages of ZB-V run their slots in the order for equal passes") {
  // By [Qi24, section 6], the first stage runs 2p-1 forwards of its first model chunk before the
  // first micro-batch is back. Then forward, B and W of the last layers follow each other, and at
  // the end B of both chunks alternate. Small letters denote the second chunk.
  CHECK(figure(zero_bubble_v_order, 4, 8) ==
        std::vector<std::string>{
            "F1 F2 F3 F4 F5 F6 F7 f1 b1 w1 f2 b2 w2 f3 b3 w3 f4 b4 w4 F8 B1 W1 f5 b5 w5 B2 W2 f6 b6 w6 B3 W3 f7 b7 w7 B4 W4 "
            "f8 b8 w8 B5 W5 B6 W6 B7 W7 B8 W8",
            "F1 F2 F3 F4 F5 f1 F6 f2 b1 w1 f3 b2 w2 f4 b3 w3 F7 B1 W1 f5 b4 w4 F8 B2 W2 f6 b5 w5 B3 W3 f7 b6 w6 B4 W4 f8 b7 "
            "w7 B5 b8 B6 W5 B7 W6 B8 W7 w8 W8",
            "F1 F2 F3 f1 F4 f2 F5 f3 b1 w1 f4 b2 w2 F6 B1 W1 f5 b3 w3 F7 B2 W2 f6 b4 w4 F8 B3 W3 f7 b5 w5 B4 W4 f8 b6 w6 B5 "
            "b7 B6 b8 B7 W5 B8 W6 w7 w8 W7 W8",
            "F1 f1 F2 f2 F3 f3 F4 f4 b1 w1 F5 B1 W1 f5 b2 w2 F6 B2 W2 f6 b3 w3 F7 B3 W3 f7 b4 w4 F8 B4 W4 f8 b5 w5 B5 b6 B6 "
            "b7 B7 b8 B8 W5 w6 w7 w8 W6 W7 W8"});
}

TEST_CASE("four stages of DualPipe run the eight parts of its order, mirrored at the other end") {
  // The order is [DSV3, Figure 5], for 4 stages and 8 micro-batches, 4 in each direction. The first stage has two forwards,
  // one in each direction, the zero-bubble part, a forward with a backward four times, and the delayed weight gradients.
  const std::vector<std::string> lines = figure(dual_pipe_order, 4, 8);
  CHECK(lines[0] == "F1 F2 F3 f5 b5 w5 f6 F4 w6 b6 f7 W1 B1 w7 b7 f8 W2 B2 w8 b8 B3 W3 B4 W4");
  CHECK(lines[1] == "F1 f5 F2 f6 F3 w5 b5 f7 W1 B1 F4 w6 b6 f8 W2 B2 w7 b7 W3 B3 b8 B4 w8 W4");
  for (const std::size_t stage : {0U, 1U}) {
    std::string expected;
    for (const char letter : lines[3 - stage]) {
      if (letter >= '1' && letter <= '8') {
        expected += static_cast<char>(letter <= '4' ? letter + 4 : letter - 4);
      } else if (letter != ' ') {
        expected += static_cast<char>(letter ^ 0x20);
      } else {
        expected += ' ';
      }
    }
    CHECK(lines[stage] == expected);
  }
}

TEST_CASE("a schedule that fills bubbles needs enough micro-batches, DualPipe an even number") {
  CHECK(zero_bubble_order.takes(4, 4));
  CHECK_FALSE(zero_bubble_order.takes(4, 3));
  CHECK(zero_bubble_v_order.takes(4, 8));
  CHECK_FALSE(zero_bubble_v_order.takes(4, 7));
  CHECK(dual_pipe_order.takes(4, 8));
  CHECK_FALSE(dual_pipe_order.takes(4, 9));
  CHECK_FALSE(dual_pipe_order.takes(3, 8));
  // With two stages, each rank has the whole model.
  CHECK_FALSE(dual_pipe_order.takes(2, 8));
  // Without a pipeline, any number of micro-batches is possible.
  CHECK(dual_pipe_order.takes(1, 1));
}

TEST_CASE("an order in which two stages wait for each other is refused") {
  // The first stage needs a gradient before it has sent its first activations.
  const auto backward_first = [](int stage, int /*stages*/, std::int64_t /*micro_batches*/,
                                 int /*chunks*/) -> std::vector<Slot> {
    const Slot forward{stage, 0, SlotPass::forward, 0}, gradient{stage, 0, SlotPass::input_gradient, 0};
    return stage == 0 ? std::vector<Slot>{gradient, forward} : std::vector<Slot>{forward, gradient};
  };
  const ScheduleOrder knot{Schedule::gpipe, "knot", backward_first, gpipe_order.in_flight, gpipe_order.bubble};
  CHECK_THROWS_AS(run_schedule(knot, equal_stages(2, 1, 1, 1, 0), 1), Error);
}

}  // namespace
