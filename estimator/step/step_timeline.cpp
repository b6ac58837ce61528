#include "estimator/step/step_timeline.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>

#include "core/enum_array.hpp"
#include "estimator/layers/token_pieces.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/tasks.hpp"

namespace ddl {
namespace {

/// The times of a pass in the order in which they are drawn. In reality, kernels and exchanges of the layers alternate.
struct PassTimes {
  Seconds kernels{}, waiting{}, exchanges{};
  Seconds hidden{};  ///< the part of the exchanges that overlaps with kernels
  [[nodiscard]] Seconds all() const { return kernels + waiting + exchanges; }
};

using StagePasses = EnumArray<SlotPass, PassTimes>;

void add_task(StagePasses& stage, const Task& task, Seconds time, bool is_of_weights) {
  PassTimes& pass = stage[!task.backward  ? SlotPass::forward
                          : is_of_weights ? SlotPass::weight_gradient
                                          : SlotPass::input_gradient];
  switch (task.part) {
    case Part::forward:
    case Part::backward:
      pass.kernels += time;
      return;
    case Part::waiting:
      pass.waiting += time;
      return;
    default:
      pass.exchanges += time;
      pass.hidden += task.time.time() - time;
  }
}

/// Returns the passes of each stage for one micro-batch.
std::vector<StagePasses> passes_of(const Step& step, const Timing<double>& timing, const Plan& plan) {
  const BubbleShares shares = order_of(plan.schedule).bubble(plan.mesh[Axis::pipeline], plan.virtual_stages);
  const bool splits = shares.weight_gradient != shares.input_gradient;
  std::vector<StagePasses> stages(static_cast<std::size_t>(step.stages));
  for (const Task& task : step.tasks) {
    const bool is_of_weights = splits && task.backward && task.launches == 0 && task.bubble == shares.weight_gradient;
    add_task(stages[static_cast<std::size_t>(task.stage)], task, task.exposed(), is_of_weights);
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stages[i][SlotPass::forward].waiting += Seconds(timing.stages[i].idle_forward);
    stages[i][SlotPass::input_gradient].waiting += Seconds(timing.stages[i].idle_backward);
  }
  if (step.in_slots) {
    // All stages take as long as the longest stages, and only exchanges of the longest stages are included.
    const CriticalStages& critical = timing.critical;
    const auto at = [&](int stage) -> StagePasses& { return stages[static_cast<std::size_t>(stage)]; };
    StagePasses longest = at(critical.time);
    for (const SlotPass pass : {SlotPass::forward, SlotPass::input_gradient, SlotPass::weight_gradient}) {
      longest[pass].kernels = at(pass == SlotPass::forward ? critical.forward : critical.backward)[pass].kernels;
    }
    std::fill(stages.begin(), stages.end(), longest);
  }
  return stages;
}

/// Whether an exchange in the window overlaps with the slice. `batches`: the number of micro-batches that it overlaps with.
bool is_in_window(const StepSlice& slice, Window window, double batches, std::int64_t micro_batches) {
  const bool is_forward = slice.work == StepWork::forward;
  if (!is_forward && slice.work != StepWork::backward && slice.work != StepWork::weight_gradient) return false;
  switch (window) {
    case Window::none:
      return false;
    case Window::backward:
      return !is_forward && static_cast<double>(slice.micro_batch) >= static_cast<double>(micro_batches) - batches;
    case Window::next_forward:
      return is_forward && static_cast<double>(slice.micro_batch) < batches;
    default:
      return true;
  }
}

/// Adds the hidden part of the gradient exchange, distributed over the compute of its window.
void hide_gradients(StepTimeline& timeline, Seconds hidden, Window window, double batches) {
  std::vector<Seconds> computing(static_cast<std::size_t>(timeline.stages));
  const auto overlaps = [&](const StepSlice& slice) {
    return slice.stage != every_stage && is_in_window(slice, window, batches, timeline.micro_batches);
  };
  for (const StepSlice& slice : timeline.slices) {
    if (overlaps(slice)) computing[static_cast<std::size_t>(slice.stage)] += slice.end - slice.begin;
  }
  for (const StepSlice& slice : timeline.slices) {
    if (hidden <= Seconds{} || !overlaps(slice)) continue;
    const double share = std::min(1.0, hidden / computing[static_cast<std::size_t>(slice.stage)]);
    StepSlice exchange = slice;
    exchange.work = StepWork::gradient_exchange;
    // Gradients are exchanged after they are computed, and weights are gathered before forward.
    if (slice.work == StepWork::forward) {
      exchange.end = slice.begin + (slice.end - slice.begin) * share;
    } else {
      exchange.begin = slice.end - (slice.end - slice.begin) * share;
    }
    timeline.hidden.push_back(exchange);
  }
}

}  // namespace

bool is_exchange(StepWork work) {
  return work == StepWork::layer_exchange || work == StepWork::transfer || work == StepWork::gradient_exchange;
}

std::optional<StepTimeline> step_timeline(const Step& step, const Timing<double>& timing, const Plan& plan) {
  // Without a pipeline, each micro-batch is done before the next one begins.
  const ScheduleOrder& order = step.stages == 1 ? one_forward_one_backward_order : order_of(plan.schedule);
  StepTimeline timeline;
  timeline.stages = step.stages;
  timeline.micro_batches = plan.micro_batches;
  timeline.chunks = step.stages == 1 ? 1 : plan.virtual_stages * order.chunks;
  timeline.step_time = Seconds(timing.step_time());
  const double slots = 3.0 * step.stages * timeline.chunks * static_cast<double>(plan.micro_batches);
  if (slots > static_cast<double>(most_drawn_slots)) return std::nullopt;

  const std::vector<StagePasses> stages = passes_of(step, timing, plan);
  // The share of a stage's time that one of its virtual stages takes. If micro-batches go in two
  // directions, each micro-batch uses one of the two virtual stages.
  const double part = 1 / (step.stages == 1 ? 1 : step.chunks);
  const Seconds hop = step.stages > 1 ? Seconds(timing[Part::pipeline]) / step.hops() : Seconds{};
  std::vector<StageSlots> times;
  for (StagePasses stage : stages) {
    times.push_back({stage[SlotPass::forward].all() * part, stage[SlotPass::input_gradient].all() * part,
                     stage[SlotPass::weight_gradient].all() * part, hop, hop});
  }
  const int virtual_stages = step.stages == 1 ? 1 : plan.virtual_stages;
  const PipelineTimeline schedule = run_schedule(order, times, plan.micro_batches, virtual_stages);

  const Seconds input(timing[Part::input]), gradients(timing[Part::gradient_exchange]), update(timing[Part::weight_update]),
      ranks(timing.rank_waiting);
  const Seconds micro_batches = max(Seconds{}, timeline.step_time - input - gradients - update - ranks);
  const Seconds length = schedule.length();
  if (length > Seconds{}) timeline.pace = micro_batches / length;

  const auto add = [&](int stage, StepWork work, const Slot& slot, Seconds begin, Seconds end) {
    if (end > begin) timeline.slices.push_back({stage, work, slot.micro_batch, slot.chunk, begin, end});
  };
  for (const std::vector<TimedSlot>& stage : schedule.stages) {
    for (const TimedSlot& timed : stage) {
      const Slot& slot = timed.slot;
      const PassTimes& pass = stages[static_cast<std::size_t>(slot.stage)][slot.pass];
      const StepWork kernels = slot.pass == SlotPass::forward          ? StepWork::forward
                               : slot.pass == SlotPass::input_gradient ? StepWork::backward
                                                                       : StepWork::weight_gradient;
      const auto at = [&](Seconds time) { return input + time * timeline.pace; };
      const Seconds waits = timed.begin + pass.kernels * part, exchanges = min(timed.end, waits + pass.waiting * part);
      add(slot.stage, kernels, slot, at(timed.begin), at(waits));
      add(slot.stage, StepWork::waiting, slot, at(waits), at(exchanges));
      // Differences that are due to rounding are treated as zero.
      if (pass.exchanges > Seconds{}) add(slot.stage, StepWork::layer_exchange, slot, at(exchanges), at(timed.end));
      add(slot.stage, StepWork::transfer, slot, at(timed.end), at(timed.arrival));
      if (const Seconds hidden = min(pass.hidden, pass.kernels); hidden > pass.all() * 1e-9) {
        timeline.hidden.push_back({slot.stage, StepWork::layer_exchange, slot.micro_batch, slot.chunk, at(timed.begin),
                                   at(timed.begin + hidden * part)});
      }
    }
  }
  std::stable_sort(timeline.slices.begin(), timeline.slices.end(), [](const StepSlice& a, const StepSlice& b) {
    return std::tuple(a.begin, a.stage) < std::tuple(b.begin, b.stage);
  });
  Seconds now = input + micro_batches;
  const auto once = [&](StepWork work, Seconds time) {
    add(every_stage, work, Slot{}, now, now + time);
    now += time;
  };
  once(StepWork::waiting, ranks);
  once(StepWork::gradient_exchange, gradients);
  once(StepWork::weight_update, update);
  if (input > Seconds{}) {
    timeline.slices.insert(timeline.slices.begin(), {every_stage, StepWork::input, 0, 0, Seconds{}, input});
  }
  return timeline;
}

std::optional<StepTimeline> step_timeline(const Estimator& estimator, const Plan& plan) {
  // With older versions of weights, stages begin the next step before others have ended this one.
  if (estimator.job().assumptions.weight_versions && plan.mesh[Axis::pipeline] > 1) return std::nullopt;
  // The schedule has slots of whole micro-batches.
  if (token_pieces(estimator.job().facts, plan, estimator.job().assumptions) > 1) return std::nullopt;
  if (estimator.estimate(plan).time.step_time().value() <= 0) return std::nullopt;
  const PlanSteps& steps = estimator.steps();
  const Step& step = steps.staged(plan).step;
  const Timing<double> timing = steps.timing(plan);
  std::optional<StepTimeline> timeline = step_timeline(step, timing, plan);
  const std::vector<Updates::Stage>& updates = steps.updates(plan).stages;
  const auto critical = static_cast<std::size_t>(timing.critical.gradient_exchange);
  if (timeline && critical < updates.size()) {
    const Updates::Stage& own = updates[critical];
    const bool is_gather = own.window == Window::none;
    hide_gradients(*timeline, Seconds(timing.hidden_exchange), is_gather ? own.gather_window : own.window,
                   std::max(is_gather ? 1 : own.exchange.rounds, step.overlapped_batches));
  }
  return timeline;
}

}  // namespace ddl
