#include "estimator/step/step.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {

bool Step::depends_on(Coefficient coefficient) const {
  const auto depends = [&](const Term& term) { return term.depends_on(coefficient); };
  if (coefficient == Coefficient::per_iteration) return several_ranks;
  if (coefficient == Coefficient::straggler_factor) return several_ranks && slowest_of > 1;
  if (coefficient == Coefficient::launch_overhead)
    return std::any_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.launches > 0; });
  return std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) { return depends(task.time); }) ||
         std::any_of(transfers.begin(), transfers.end(), depends) || depends(reading);
}

bool Updates::Stage::takes_as_long_as(const Stage& other) const {
  return update == other.update && of_gradients == other.of_gradients && of_weights == other.of_weights &&
         after_update == other.after_update && unsharded_weight_sync == other.unsharded_weight_sync &&
         of_copies == other.of_copies && of_fragments == other.of_fragments && at_servers == other.at_servers &&
         parts == other.parts && window == other.window && gather_window == other.gather_window &&
         exchange.rounds == other.exchange.rounds && exchange.gathers == other.exchange.gathers &&
         exchange.copies_overlap == other.exchange.copies_overlap;
}

bool Updates::take_as_long_as(const Updates& other) const {
  return fragments_share == other.fragments_share &&
         std::equal(stages.begin(), stages.end(), other.stages.begin(), other.stages.end(),
                    [](const Stage& a, const Stage& b) { return a.takes_as_long_as(b); });
}

bool Updates::depends_on(Coefficient coefficient) const {
  return std::any_of(stages.begin(), stages.end(), [&](const Stage& own) {
    return own.update.depends_on(coefficient) || own.of_gradients.depends_on(coefficient) ||
           own.of_weights.depends_on(coefficient) || own.after_update.depends_on(coefficient) ||
           own.unsharded_weight_sync.depends_on(coefficient) || own.of_copies.depends_on(coefficient) ||
           own.of_fragments.depends_on(coefficient) || own.at_servers.depends_on(coefficient);
  });
}

double disturbance_of(const Step& step) {
  if (!step.several_ranks) return 0;
  return step.origin[Coefficient::straggler_factor] * std::log(step.slowest_of) + step.rank_waiting;
}

RelaxedStep relaxed(const Step& step) {
  RelaxedStep result;
  result.stages = step.stages;
  result.micro_batches = step.micro_batches;
  result.chunks = step.chunks;
  result.fills_bubbles = step.fills_bubbles;
  result.has_end = step.has_end;
  result.pieces = step.pieces;
  std::array<Seconds, 2> busy{}, launches{};  // launch times of forward and backward
  const Seconds start(step.origin[Coefficient::launch_overhead]);
  const double disturbance = disturbance_of(step), straggling = step.several_ranks ? step.straggling : 0;
  for (const Task& task : step.tasks) {
    const std::size_t direction = task.backward ? 1 : 0;
    busy[direction] += task.exposed();
    launches[direction] += start * task.launches;
    if (is_disturbed(task.part)) result.waiting += task.exposed() * disturbance;
    if (task.part == Part::forward || task.part == Part::backward) result.waiting += task.exposed() * straggling;
  }
  result.fixed = step.fixed_waiting;
  result.busy = max(busy[0], launches[0]) + max(busy[1], launches[1]);
  result.launches = launches[0] + launches[1];
  for (const Term& transfer : step.transfers) result.hop = max(result.hop, transfer.time());
  return result;
}

Seconds shortest_run(const RelaxedStep& step) {
  // The longest stage processes all micro-batches, and waits for one virtual stage of every other stage, or for one of the
  // pieces in which the stage passes tokens on. The bubble does not include the time for which those stages wait for ranks.
  const double waits = step.fills_bubbles || !step.has_end ? 0 : 1 / (step.chunks * step.pieces),
               own = step.micro_batches - waits;
  const Seconds last = step.stages > 1 ? Seconds{} : step.waiting * waits;
  const Seconds devices = step.busy * waits + max(step.longest, (step.busy + step.waiting) / step.stages) * own + last;
  const Seconds hosts = step.launches * waits + (step.launches + step.waiting) / step.stages * own + last;
  const double others = step.has_end ? std::max(0.0, (step.stages - 1.0) / step.pieces - 1) : 0;  // as in Step::hops()
  const Seconds hops = step.stages > 1 ? step.hop * (2.0 * (others + step.chunks * step.micro_batches)) : Seconds{};
  return max(devices, hosts) + hops + step.fixed;
}

Seconds least_run(const Step& step, const Timing<double>& timing) {
  const Seconds time(timing.step_time());
  if (step.stages == 1 || step.in_slots || !step.several_ranks) return time;
  const double disturbance = disturbance_of(step);
  std::vector<double> waiting;
  for (const Timing<double>::Stage& stage : timing.stages)
    waiting.push_back(stage.disturbed * disturbance + stage.kernels() * step.straggling);
  const double least = *std::min_element(waiting.begin(), waiting.end());
  const double more = waiting[static_cast<std::size_t>(timing.critical.time)] - least;
  return time - Seconds(more * (step.fills_bubbles || !step.has_end ? step.micro_batches : 1));
}

Breakdown breakdown_of(const Timing<double>& timing) {
  Breakdown breakdown;
  for (std::size_t i = 0; i < breakdown.size(); ++i) breakdown[i] = Seconds(timing.parts[i]);
  return breakdown;
}

}  // namespace ddl
