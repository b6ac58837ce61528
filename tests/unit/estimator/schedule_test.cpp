#include "estimator/schedules/schedule.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"

namespace {

using namespace ddl;

TEST_CASE("GPipe holds all micro-batches, 1F1B as many as there are stages to come, one stage a single one") {
  using enum Schedule;
  for (const int stage : {0, 1, 3}) CHECK(micro_batches_in_flight(gpipe, stage, 4, 8) == 8);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 0, 4, 8) == 4);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 1, 4, 8) == 3);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 3, 4, 8) == 1);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 0, 4, 2) == 2);
  // Without a pipeline backward follows forward, micro-batch by micro-batch.
  CHECK(micro_batches_in_flight(gpipe, 0, 1, 8) == 1);
  CHECK(micro_batches_in_flight(one_forward_one_backward, 0, 1, 8) == 1);
}

using Stages = std::vector<StageSlots>;

Stages equal_stages(int count, double forward, double input_gradient, double weight_gradient, double hop) {
  return Stages(static_cast<std::size_t>(count),
                StageSlots{Seconds(forward), Seconds(input_gradient), Seconds(weight_gradient), Seconds(hop), Seconds(hop)});
}

TEST_CASE("a schedule's names are read as they are written") {
  for (const ScheduleOrder* order : all_schedules()) {
    CHECK(to_string(order->schedule) == order->name);
    CHECK(parse_schedule(order->name) == order->schedule);
  }
  CHECK_FALSE(parse_schedule("1F1B "));
}

TEST_CASE("every stage does each pass of each micro-batch once") {
  for (const ScheduleOrder* order : all_schedules()) {
    for (const int stages : {1, 2, 3, 8}) {
      for (const std::int64_t micro_batches : {1, 2, 5, 16}) {
        for (int stage = 0; stage < stages; ++stage) {
          std::set<std::tuple<int, std::int64_t>> seen;
          for (const Slot& slot : order->slots(stage, stages, micro_batches, 1)) {
            CHECK(slot.stage == stage);
            CHECK(slot.stretch == 0);
            CHECK((slot.micro_batch >= 0 && slot.micro_batch < micro_batches));
            CHECK(seen.emplace(static_cast<int>(slot.pass), slot.micro_batch).second);
          }
          CHECK(seen.size() == static_cast<std::size_t>(3 * micro_batches));
        }
      }
    }
  }
}

TEST_CASE("of equal stages that send nothing, list and closed form agree by every schedule") {
  for (const ScheduleOrder* order : all_schedules()) {
    for (const int stages : {1, 2, 3, 4, 7, 16}) {
      for (const std::int64_t micro_batches : {1, 2, 3, 4, 9, 32}) {
        const Stages times = equal_stages(stages, 1.0, 0.75, 1.25, 0.0);
        const PipelineTimeline timeline = run_schedule(*order, times, micro_batches);
        INFO(order->name << ", " << stages << " stages, " << micro_batches << " micro-batches");
        // (p+S-1) slots of 3 s, of which S are not bubble [Nar21, section 2.2.1].
        CHECK(timeline.length().value() == Approx(3.0 * static_cast<double>(stages + micro_batches - 1)));
        CHECK(uniform_length(times, micro_batches).value() == Approx(timeline.length().value()));
        for (int stage = 0; stage < stages; ++stage) {
          CHECK(timeline.bubble(stage).value() == Approx(3.0 * (stages - 1)).margin(1e-9));
        }
      }
    }
  }
}

TEST_CASE("of equal stages that send, GPipe takes the closed form's hops and 1F1B at most as many") {
  for (const int stages : {2, 3, 4, 8}) {
    for (const std::int64_t micro_batches : {1, 2, 4, 7, 16}) {
      for (const double hop : {0.01, 0.1, 0.5}) {
        const Stages times = equal_stages(stages, 1, 1, 1, hop);
        const double closed = uniform_length(times, micro_batches).value();
        CHECK(run_schedule(gpipe_order, times, micro_batches).length().value() == Approx(closed));
        const double alternating = run_schedule(one_forward_one_backward_order, times, micro_batches).length().value();
        CHECK(alternating <= closed + 1e-9);
        // Never less than the way of one micro-batch there and back, and all the work of a stage.
        CHECK(alternating >= 3.0 * static_cast<double>(stages + micro_batches - 1) + 2.0 * (stages - 1) * hop - 1e-9);
      }
    }
  }
}

TEST_CASE("of stages that differ, GPipe takes the longest forward and the longest backward for each further micro-batch") {
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
    // One stage that is the longest both ways: the closed form.
    CHECK(uniform_length(times, micro_batches).value() <= length + 1e-9);
  }
}

TEST_CASE("no stage ends before its own work and the way of one micro-batch, by any schedule") {
  std::mt19937 engine(11);
  std::uniform_real_distribution<double> seconds(0.0, 2.0);
  for (int round = 0; round < 200; ++round) {
    Stages times(static_cast<std::size_t>(1 + round % 7));
    double way = 0, longest = 0;
    const std::int64_t micro_batches = 1 + round % 11;
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i] = {Seconds(seconds(engine)), Seconds(seconds(engine)), Seconds(seconds(engine)), Seconds(seconds(engine)),
                  Seconds(seconds(engine))};
      const StageSlots& stage = times[i];
      const double work = (stage.forward + stage.input_gradient + stage.weight_gradient).value();
      const double sent = (i + 1 < times.size() ? stage.to_next.value() : 0) + (i > 0 ? stage.to_previous.value() : 0);
      way += work + sent;
      longest = std::max(longest, (work + sent) * static_cast<double>(micro_batches));
    }
    for (const ScheduleOrder* order : all_schedules()) {
      const PipelineTimeline timeline = run_schedule(*order, times, micro_batches);
      CHECK(timeline.length().value() >= std::max(way, longest) - 1e-9);
      for (const std::vector<TimedSlot>& stage : timeline.stages) {
        for (std::size_t i = 1; i < stage.size(); ++i) CHECK(stage[i].begin >= stage[i - 1].arrival);
      }
    }
  }
}

TEST_CASE("a stage holds as many micro-batches as its schedule's closed form says") {
  for (const ScheduleOrder* order : all_schedules()) {
    for (const int stages : {1, 2, 4, 9}) {
      for (const std::int64_t micro_batches : {1, 3, 8, 20}) {
        const PipelineTimeline timeline = run_schedule(*order, equal_stages(stages, 1, 1, 1, 0.1), micro_batches);
        for (int stage = 0; stage < stages; ++stage) {
          CHECK(static_cast<double>(timeline.most_in_flight(stage)) ==
                order->in_flight(stage, stages, static_cast<double>(micro_batches), 1));
        }
      }
    }
  }
}

TEST_CASE("interleaved stages do each pass of each micro-batch once in each stretch, and hold what the closed form says") {
  for (const int stretches : {2, 3, 4}) {
    for (const int stages : {2, 4, 5}) {
      for (const std::int64_t rounds : {1, 2, 4}) {
        const std::int64_t micro_batches = rounds * stages;
        const Stages times = equal_stages(stages, 1, 1, 1, 0);
        const PipelineTimeline timeline = run_schedule(one_forward_one_backward_order, times, micro_batches, stretches);
        INFO(stages << " stages of " << stretches << " stretches, " << micro_batches << " micro-batches");
        for (int stage = 0; stage < stages; ++stage) {
          std::set<std::tuple<int, int, std::int64_t>> seen;
          for (const TimedSlot& timed : timeline.stages[static_cast<std::size_t>(stage)]) {
            CHECK((timed.slot.stretch >= 0 && timed.slot.stretch < stretches));
            CHECK((timed.slot.micro_batch >= 0 && timed.slot.micro_batch < micro_batches));
            seen.emplace(static_cast<int>(timed.slot.pass), timed.slot.stretch, timed.slot.micro_batch);
          }
          CHECK(seen.size() == static_cast<std::size_t>(3 * stretches * micro_batches));
          CHECK(static_cast<double>(timeline.most_in_flight(stage)) / stretches ==
                Approx(micro_batches_in_flight(Schedule::one_forward_one_backward, stage, stages,
                                               static_cast<double>(micro_batches), stretches)));
        }
      }
    }
  }
  // The first stage holds p·(1 + (p−1)/(p·v)) micro-batches [Kort22, section 4.2.3].
  CHECK(micro_batches_in_flight(Schedule::one_forward_one_backward, 0, 8, 64, 3) == Approx(8 * (1 + 7.0 / 24)));
}

TEST_CASE("v stretches of layers divide the bubble of equal stages by v") {
  for (const int stretches : {1, 2, 3, 6}) {
    for (const int stages : {2, 4, 8}) {
      for (const std::int64_t rounds : {1, 2, 5}) {
        const std::int64_t micro_batches = rounds * stages;
        // A stretch has its part of the work of a stage: forward 1, backward 2.
        const Stages times = equal_stages(stages, 1.0 / stretches, 0.75 / stretches, 1.25 / stretches, 0.0);
        const PipelineTimeline timeline = run_schedule(one_forward_one_backward_order, times, micro_batches, stretches);
        INFO(stages << " stages of " << stretches << " stretches, " << micro_batches << " micro-batches");
        // (p−1)/v of the time of one micro-batch [Nar21, section 2.2.2].
        const double bubble = 3.0 * (stages - 1) / stretches;
        CHECK(timeline.length().value() == Approx(3.0 * static_cast<double>(micro_batches) + bubble));
        for (int stage = 0; stage < stages; ++stage) CHECK(timeline.bubble(stage).value() == Approx(bubble));
      }
    }
  }
}

TEST_CASE("the timeline of 4 interleaved stages is the published one") {
  // [Nar21, Figure 4, below], 8 micro-batches in 2 stretches of 4 stages: the first device's forwards and backwards, the
  // second stretch in capitals.
  std::string drawn;
  for (const Slot& slot : one_forward_one_backward_order.slots(0, 4, 8, 2)) {
    if (slot.pass == SlotPass::weight_gradient) continue;
    const bool forward = slot.pass == SlotPass::forward;
    drawn += (drawn.empty() ? "" : " ") +
             std::string(forward ? (slot.stretch == 0 ? "f" : "F") : (slot.stretch == 0 ? "b" : "B")) +
             std::to_string(slot.micro_batch + 1);
  }
  CHECK(drawn == "f1 f2 f3 f4 F1 F2 F3 F4 f5 f6 f7 B1 f8 B2 F5 B3 F6 B4 F7 b1 F8 b2 b3 b4 B5 B6 B7 B8 b5 b6 b7 b8");
}

TEST_CASE("an order in which two stages wait for each other is refused") {
  // The first stage asks for a gradient before it has sent anything.
  const auto backward_first = [](int stage, int /*stages*/, std::int64_t /*micro_batches*/,
                                 int /*stretches*/) -> std::vector<Slot> {
    const Slot forward{stage, 0, SlotPass::forward, 0}, gradient{stage, 0, SlotPass::input_gradient, 0};
    return stage == 0 ? std::vector<Slot>{gradient, forward} : std::vector<Slot>{forward, gradient};
  };
  const ScheduleOrder knot{Schedule::gpipe, "knot", backward_first, gpipe_order.in_flight};
  CHECK_THROWS_AS(run_schedule(knot, equal_stages(2, 1, 1, 1, 0), 1), Error);
}

}  // namespace
