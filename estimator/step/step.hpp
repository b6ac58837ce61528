#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/exchanges/synchronization.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/step/term.hpp"

namespace ddl {

/// The parts of the time of a step, in the order of reports.
enum class Part {
  forward,   ///< forward kernels of the busiest stage
  backward,  ///< backward kernels of the busiest stage, including recomputation
  weight_update,
  gradient_exchange,  ///< exposed gradient exchange, and the slowdown of kernels by the overlapped part
  layer_collectives,  ///< filter, channel and tensor exchanges
  halo,               ///< spatial exchanges
  pipeline,           ///< activations and gradients between stages
  bubble,             ///< waiting of the busiest stage for the other stages
  input,              ///< exposed part of reading samples
  waiting             ///< waiting for the host and for the slowest rank, and constant times per step
};

/// The time of one step by part. The parts add up to the time of the step.
struct Breakdown : EnumArray<Part, Seconds> {
  [[nodiscard]] Seconds step_time() const {
    Seconds sum{};
    for (const Seconds part : *this) sum += part;
    return sum;
  }
  [[nodiscard]] Seconds compute() const {
    return (*this)[Part::forward] + (*this)[Part::backward] + (*this)[Part::weight_update];
  }
};

/// The stage of a pipeline that determines each part of an estimate; all 0 without a pipeline.
struct CriticalStages {
  int time = 0;      ///< the longest stage; its kernels, layer-wise exchanges and halos are part of the time
  int unwaited = 0;  ///< the stage that no other stage waits for; −1: there is no bubble
  int forward = 0;   ///< with slots as long as the longest stage: the stage that is longest in forward
  int backward = 0;  ///< with slots as long as the longest stage: the stage that is longest in backward
  int weight_update = 0;
  int gradient_exchange = 0;
  int transfer = 0;  ///< the stage that receives tensors across the slowest cut
  int memory = 0;    ///< the stage with the most memory
  /// If stages pass tokens on in pieces, for each wave and each stage: the share of the tasks that the longest stage waits
  /// for, by wave·stages + stage. Empty otherwise: all of each task.
  std::vector<double> waits{};
};

/// Work of a device for each micro-batch: kernels or exchanges of one stage, or of one layer of the stage.
struct Task {
  int stage = 0;
  bool backward = false;
  Part part = Part::forward;  ///< the part of the step that includes the task's exposed time
  double launches = 0;        ///< number of kernels and exchanges that the host launches for the task
  Term time;                  ///< time of one micro-batch
  double bubble = 1;          ///< for a task of another stage, the share of the task that the longest stage waits for
  /// The share of the task's time that does not overlap with compute of another micro-batch. While the first micro-batch
  /// fills the pipeline, the task cannot overlap with another micro-batch, so other stages wait for the task's whole time.
  double exposed_share = 1;
  int wave = 0;  ///< the wave of the task's layers (waves_of)
  [[nodiscard]] Seconds exposed() const { return time.time() * exposed_share; }
  friend bool operator==(const Task&, const Task&) = default;
};

/// One training step: the tasks, in the order of their stages, and the data that a schedule of the tasks needs. Work that is
/// done once for all micro-batches is not included.
struct Step {
  Learned origin;  ///< the coefficients at which the times of terms were computed
  std::vector<Task> tasks;
  std::vector<Term> transfers;  ///< for each stage, time of the transfer into the stage, of one micro-batch in one direction
  Term reading;                 ///< time to read the whole batch
  int stages = 1;
  double micro_batches = 1;
  double chunks = 1;           ///< number of virtual stages on each stage
  bool fills_bubbles = false;  ///< whether weight gradients are computed in bubbles
  bool has_end = true;         ///< whether stages wait for each other at the end of a step
  bool in_slots = false;       ///< whether each slot is as long as the longest forward and backward [ParaDL, Table III]
  bool several_ranks = false;  ///< whether several ranks wait for each other
  double slowest_of = 1;       ///< number of nodes
  /// time to copy managed memory from the host for one micro-batch; also included in the time of one of the tasks
  Seconds paging{};
  /// Time of a step in which the device waits for the framework, in addition to launches: between steps, and for the start
  /// of the last exchange of gradients.
  Seconds fixed_waiting{};
  /// The number of micro-batches whose backward, and whose forward in the next step, can overlap with work that is done once
  /// per step. Model chunks of interleaved stages complete their gradients, and need their weights, at different times, one
  /// chunk after the other, and each processes a group of as many micro-batches as there are stages [Nar21, section 2.2.2].
  double overlapped_batches = 1;
  /// Factors on the launch times of forward and backward if one process launches the kernels of several devices.
  double forward_hosts = 1, backward_hosts = 1;
  double rank_waiting = 0;  ///< θ·ln n: waiting time of n ranks, divided by kernel, layer-wise exchange and halo time
  /// additional time of the slowest device, as a share of the kernel time of the longest stage
  double straggling = 0;
  double workers = 1;                  ///< number of workers, if none of them waits for another one
  double lone_straggling = 0;          ///< like `straggling`, for workers that do not wait for the slowest worker
  Window input_window = Window::none;  ///< the window in which samples are read
  double pieces = 1;                   ///< number of pieces in which stages pass on the tokens of a sample (token_pieces)
  std::vector<int> waves{};            ///< with several pieces, the wave of each layer
  /// Transfers for which the first micro-batch does not wait, because its later pieces pass while stages compute.
  double hidden_hops = 0;

  /// Returns the number of slots of a pipeline in which a stage sends: 2(p+S−2) [ParaDL, Table III]. With v virtual stages
  /// per stage, each virtual stage sends every micro-batch, so S is multiplied by v.
  /// If stages do not wait for each other at the end of a step, other micro-batches are sent while the first passes them.
  [[nodiscard]] double hops() const {
    const double first = has_end ? stages - 2.0 : 0.0;
    return 2.0 * (chunks * micro_batches + (hidden_hops > 0 ? std::max(0.0, first - hidden_hops) : first));
  }
  [[nodiscard]] bool depends_on(Coefficient coefficient) const;
  friend bool operator==(const Step&, const Step&) = default;
};

/// The work that each stage does once per step: the exchange of gradients and the update of weights.
struct Updates {
  struct Stage {
    Term update;
    GradientExchange exchange;
    Term of_gradients, of_weights, after_update;  ///< times of the exchange, as in GradientExchange
    ExchangeParts parts;                          ///< parts that overlap with compute one by one
    Term unsharded_weight_sync;
    Term at_servers;               ///< time in which parameter servers without a barrier serve each worker once
    Term of_copies;                ///< time of the final gradient sum among ranks with copies of shards or stages
    Term of_fragments;             ///< time of an exchange of local steps that kernels hide
    Window window = Window::none;  ///< window of the exchanges of gradients, and of the weights for forward and backward
    Window gather_window = Window::none;  ///< window of weights gathered after the update
    [[nodiscard]] bool takes_as_long_as(const Stage& other) const;
  };
  std::vector<Stage> stages;
  OverlapSlowdown slowdown;    ///< slowdown of exchanges and kernels while they overlap
  double fragments_share = 0;  ///< share of a step's compute that can hide the exchange of local steps
  [[nodiscard]] bool depends_on(Coefficient coefficient) const;
  [[nodiscard]] bool take_as_long_as(const Updates& other) const;
};

/// How many times the time of a task is included in a step, as the task's own part and as bubble.
struct Counts {
  Part part = Part::forward;
  double runs = 0;         ///< number of times that the task's exposed time is included
  double bubble_runs = 0;  ///< number of times that the task's whole time is included as bubble, in addition to `runs`
};
/// Returns how many times the time of a task is included in a step. The first micro-batch passes all stages, and the others
/// follow at the pace of the longest stage. The schedule defines for which share of the tasks of other stages the longest
/// stage waits (BubbleShares). A pipeline with slots has p+S−1 slots.
[[nodiscard]] inline Counts counts_of(const Step& step, const CriticalStages& critical, const Task& task) {
  const bool longest = task.stage == critical.time;
  if (!step.in_slots) {
    double waits = critical.unwaited >= 0 && task.stage != critical.unwaited ? task.bubble : 0;
    const std::ptrdiff_t wave = task.wave, stages = step.stages;
    if (!critical.waits.empty()) waits *= critical.waits.begin()[wave * stages + task.stage];
    return longest ? Counts{task.part, step.micro_batches, waits} : Counts{task.part, 0, waits};
  }
  if (task.part == Part::forward || task.part == Part::backward) {
    const bool sets_slot = task.stage == (task.part == Part::forward ? critical.forward : critical.backward);
    return sets_slot ? Counts{task.part, step.micro_batches, step.stages - 1.0} : Counts{};
  }
  return longest ? Counts{task.part, step.micro_batches} : Counts{};
}

/// The time of a step at given coefficients, in seconds. `T` is a number type that may carry derivatives.
template <class T>
struct Timing {
  /// The times of one micro-batch in one stage, in seconds.
  struct Stage {
    T forward = T(0), backward = T(0);  ///< total time in which the device computes or exchanges
    T forward_kernels = T(0), backward_kernels = T(0);
    T disturbed = T(0);                           ///< the part of the busy time that is longer on the slowest rank
    T idle_forward = T(0), idle_backward = T(0);  ///< waiting for the host to launch kernels
    T whole = T(0);                               ///< busy and waiting time, with the waiting for the slowest rank
    double forward_launches = 0, backward_launches = 0;

    [[nodiscard]] T busy() const { return forward + backward; }
    [[nodiscard]] T idle() const { return idle_forward + idle_backward; }
    [[nodiscard]] T kernels() const { return forward_kernels + backward_kernels; }
  };
  std::vector<Stage> stages;
  EnumArray<Part, T> parts;
  CriticalStages critical;
  T host_waiting = T(0), rank_waiting = T(0), reading = T(0), hidden_exchange = T(0), hidden_input = T(0);
  T host_waiting_in_forward = T(0);  ///< the part of `host_waiting` in forward passes

  Timing() {
    // Types that carry derivatives have no default value.
    for (T& part : parts) part = T(0);
  }

  [[nodiscard]] T& operator[](Part part) { return parts[part]; }
  [[nodiscard]] const T& operator[](Part part) const { return parts[part]; }
  [[nodiscard]] T step_time() const {
    T sum(0);
    for (const T& part : parts) sum += part;
    return sum;
  }
};

/// Returns the stage for which the other stages would wait longest; −1 if no bubble is left. Used if weight gradients fill
/// bubbles: the passes of this stage do not count as bubble. With this choice, the bubble never becomes shorter when a pass
/// other than a weight gradient becomes longer. `times`: times of the tasks, in seconds.
template <class T>
[[nodiscard]] int unwaited_stage(const Step& step, const std::vector<T>& times) {
  std::vector<T> waits(static_cast<std::size_t>(step.stages), T(0));
  for (std::size_t i = 0; i < times.size(); ++i)
    waits[static_cast<std::size_t>(step.tasks[i].stage)] += times[i] * step.tasks[i].bubble;
  std::size_t longest = 0;
  T all(0);
  for (std::size_t stage = 0; stage < waits.size(); ++stage) {
    if (waits[longest] < waits[stage]) longest = stage;
    all += waits[stage];
  }
  return T(0) < all - waits[longest] ? static_cast<int>(longest) : -1;
}

/// Sets the share of each task that the longest stage waits for if stages pass tokens on in pieces. In each wave, the first
/// micro-batch takes as long as the longest stage of the wave, and a piece of each other stage. The longest stage of the
/// step runs its own part of the wave in any case. `times`: times of the tasks, in seconds. Returns the mean share of each
/// stage.
template <class T>
[[nodiscard]] std::vector<double> set_waits(const Step& step, const std::vector<T>& times, CriticalStages& critical) {
  const auto stages = static_cast<std::size_t>(step.stages);
  const auto waves = static_cast<std::size_t>(step.waves.back()) + 1;
  std::vector<double> sums(waves * stages, 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    double& sum =
        sums[static_cast<std::size_t>(step.tasks[i].wave) * stages + static_cast<std::size_t>(step.tasks[i].stage)];
    if constexpr (std::is_convertible_v<T, double>) {
      sum += times[i];
    } else {
      sum += times[i].value();
    }
  }
  critical.waits.assign(sums.size(), 1 / step.pieces);
  const auto own = static_cast<std::size_t>(critical.time);
  for (std::size_t wave = 0; wave < waves; ++wave) {
    const std::size_t first = wave * stages;
    std::size_t longest = own;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      if (sums[first + longest] < sums[first + stage]) longest = stage;
    }
    if (longest != own)
      critical.waits[first + longest] = 1 - (1 - 1 / step.pieces) * sums[first + own] / sums[first + longest];
  }
  std::vector<double> of_stages;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    double all = 0, waits = 0;
    for (std::size_t wave = 0; wave < waves; ++wave) {
      all += sums[wave * stages + stage];
      waits += sums[wave * stages + stage] * critical.waits[wave * stages + stage];
    }
    of_stages.push_back(all > 0 ? waits / all : 1);
  }
  return of_stages;
}

/// Returns whether delays of a rank lengthen this part of a step. Delays lengthen all compute,
/// layer-wise exchanges and halos.
[[nodiscard]] constexpr bool is_disturbed(Part part) {
  return part == Part::forward || part == Part::backward || part == Part::layer_collectives || part == Part::halo;
}

/// Returns the time of all micro-batches before gradients are exchanged, in seconds.
template <class T>
[[nodiscard]] Timing<T> run(const Step& step, const CoefficientValues<T>& x) {
  const T none(0);
  Timing<T> result;
  CriticalStages& critical = result.critical;
  using Stage = typename Timing<T>::Stage;
  result.stages.resize(static_cast<std::size_t>(step.stages));
  std::vector<T> times;
  times.reserve(step.tasks.size());
  for (const Task& task : step.tasks) {
    Stage& own = result.stages[static_cast<std::size_t>(task.stage)];
    const T& time = times.emplace_back(task.time.at(x, step.origin));
    const T exposed = time * task.exposed_share;
    (task.backward ? own.backward : own.forward) += exposed;
    (task.backward ? own.backward_launches : own.forward_launches) += task.launches;
    if (task.part == Part::forward) own.forward_kernels += exposed;
    if (task.part == Part::backward) own.backward_kernels += exposed;
    if (is_disturbed(task.part)) own.disturbed += exposed;
  }
  const T& start = x[Coefficient::launch_overhead];
  // The additional time of the slowest rank, as a share of a single rank's time.
  const T disturbance = x[Coefficient::straggler_factor] * std::log(step.slowest_of) + T(step.rank_waiting);
  T longest = none;
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    Stage& own = result.stages[i];
    own.idle_forward = larger<T>(none, start * (own.forward_launches * step.forward_hosts) - own.forward);
    own.idle_backward = larger<T>(none, start * (own.backward_launches * step.backward_hosts) - own.backward);
    T& time = own.whole;
    time = own.busy() + own.idle();
    if (step.several_ranks) {
      own.disturbed += T(step.paging.value());
      time += own.disturbed * disturbance;
      time += (own.forward_kernels + own.backward_kernels) * step.straggling;
    }
    const auto stage = static_cast<int>(i);
    // Two stages that differ only by rounding are treated as equally long, whatever their tasks are.
    if (i == 0 || longest * (1 + 1e-12) < time) {
      longest = time;
      critical.time = stage;
    }
    const auto decides = [&](int other, T Stage::*kernels) {
      return result.stages[static_cast<std::size_t>(other)].*kernels < own.*kernels;
    };
    if (decides(critical.forward, &Stage::forward_kernels)) critical.forward = stage;
    if (decides(critical.backward, &Stage::backward_kernels)) critical.backward = stage;
    if (i == 0) continue;
    const T transfers = step.transfers[i].at(x, step.origin) * step.hops();
    if (result[Part::pipeline] < transfers) {
      result[Part::pipeline] = transfers;
      critical.transfer = stage;
    }
  }
  std::vector<double> waits;
  if (step.pieces > 1 && !step.in_slots) waits = set_waits<T>(step, times, critical);
  critical.unwaited = step.fills_bubbles ? unwaited_stage<T>(step, times) : critical.time;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Counts counts = counts_of(step, critical, step.tasks[i]);
    if (counts.runs != 0) result[counts.part] += times[i] * step.tasks[i].exposed_share * counts.runs;
    if (counts.bubble_runs != 0) result[Part::bubble] += times[i] * counts.bubble_runs;
  }
  result.host_waiting = T(step.fixed_waiting.value());
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    const bool decides = static_cast<int>(i) == critical.time;
    // If weight gradients fill bubbles, or there are none, the longest stage waits for no other stage's host.
    const double share = waits.empty() ? 1 / step.chunks : waits[i];
    const double others = step.fills_bubbles || !step.has_end ? 0 : share;
    const double runs = decides ? step.micro_batches : others;
    result.host_waiting += result.stages[i].idle() * runs;
    result.host_waiting_in_forward += result.stages[i].idle_forward * runs;
  }
  result[Part::waiting] += result.host_waiting;
  if (step.several_ranks) {
    const T disturbed = result[Part::forward] + result[Part::backward] + result[Part::layer_collectives] +
                        result[Part::halo] + T(step.paging.value() * step.micro_batches);
    result.rank_waiting = x[Coefficient::per_iteration] +
                          (result[Part::forward] + result[Part::backward]) * step.straggling + disturbed * disturbance;
    result[Part::waiting] += result.rank_waiting;
  }
  result.reading = step.reading.at(x, step.origin);
  return result;
}

/// The compute of a stage in a window, and the time in that window in which its device waits for the host or for the longest
/// stage, in seconds.
template <class T>
struct Computing {
  T kernels = T(0), idle = T(0);
};
/// Returns the work of a stage in a window of the gradient exchange. `rounds`: the number of gradient exchanges.
template <class T>
[[nodiscard]] Computing<T> computing_in(Window window, const Timing<T>& timing, std::size_t of_stage, const Step& step,
                                        double rounds) {
  const typename Timing<T>::Stage& stage = timing.stages[of_stage];
  const double batches = std::max(rounds, step.overlapped_batches);
  // For each micro-batch, a stage waits for the longest stage. Without this wait, longer kernels of another stage would hide
  // more of its exchange at the same pace, so the step would be shorter.
  const T wait = larger<T>(T(0), timing.stages[static_cast<std::size_t>(timing.critical.time)].whole - stage.whole);
  switch (window) {
    case Window::backward:
      // Gradients that are exchanged once per step are complete only in backward of the last micro-batches.
      return {stage.backward_kernels * batches, (stage.idle_backward + wait) * batches};
    case Window::computing:
      return {stage.kernels() * step.micro_batches, (stage.idle() + wait) * step.micro_batches};
    case Window::next_forward:
      return {stage.forward_kernels * batches, stage.idle_forward * batches};
    default:
      return {};
  }
}

/// Adds the waiting of workers that have no barrier: the time by which a slow worker delays the batches of all workers, and
/// the time for which workers queue at their parameter servers.
template <class T>
void add_lone_waiting(const Step& step, const Updates& updates, const CoefficientValues<T>& x, Timing<T>& timing) {
  const T none(0);
  if (step.lone_straggling > 0) {
    const T usual = timing.step_time();
    const T kernels = timing[Part::forward] + timing[Part::backward];
    const T slow = usual + kernels * step.lone_straggling;
    if (none < usual) {
      const T waiting = lone_workers_step<T>(step.workers, usual, slow) - usual;
      timing.rank_waiting += waiting;
      timing[Part::waiting] += waiting;
    }
  }
  T served(0);
  for (const Updates::Stage& own : updates.stages) served = larger<T>(served, own.at_servers.at(x, step.origin));
  if (none < served) timing[Part::gradient_exchange] += larger<T>(none, served - timing.step_time());
}

/// Adds the work that is done once for all micro-batches, which completes the step. All stages
/// exchange and update at once, so the slowest stage determines the time.
template <class T>
void finish(const Step& step, const Updates& updates, const CoefficientValues<T>& x, Timing<T>& timing) {
  const T none(0);
  for (std::size_t i = 0; i < updates.stages.size(); ++i) {
    const Updates::Stage& own = updates.stages[i];
    const T update = own.update.at(x, step.origin);
    if (timing[Part::weight_update] < update) {
      timing[Part::weight_update] = update;
      timing.critical.weight_update = static_cast<int>(i);
    }
    GradientExchangeTimes<T> exchange{own.of_gradients.at(x, step.origin), own.of_weights.at(x, step.origin),
                                      own.after_update.at(x, step.origin), own.exchange.rounds, own.exchange.gathers};
    T copies = own.of_copies.at(x, step.origin);
    const T fragments = own.of_fragments.at(x, step.origin);
    const T all = exchange.total() + copies + fragments;
    if (own.gather_window != Window::none && none < exchange.after_update) {
      const GradientExchangeTimes<T> gather{none, exchange.after_update, none, 0, 1};
      const Computing<T> meanwhile = computing_in<T>(own.gather_window, timing, i, step, 1);
      exchange.after_update = exposed(gather, meanwhile.kernels, meanwhile.idle, own.parts, updates.slowdown);
    }
    if (own.window != Window::none && own.exchange.copies_overlap && none < copies) {
      const GradientExchangeTimes<T> sum{copies, none, none, 1, 0};
      const Computing<T> meanwhile = computing_in<T>(Window::backward, timing, i, step, 1);
      copies = exposed(sum, meanwhile.kernels, meanwhile.idle, own.parts, updates.slowdown);
    }
    T shown = exchange.total();
    if (own.window != Window::none) {
      const Computing<T> meanwhile = computing_in<T>(own.window, timing, i, step, exchange.rounds);
      T left = exposed(exchange, meanwhile.kernels, meanwhile.idle, own.parts, updates.slowdown);
      // Sums among copies that overlap with the same kernels also overlap with these exchanges: they have other streams and
      // other links. If both parts were added, longer kernels would make a step shorter.
      if (own.exchange.copies_overlap) {
        left = larger<T>(left, copies);
        copies = none;
      }
      shown = exchange.after_update + left;
    }
    shown += own.unsharded_weight_sync.at(x, step.origin) + copies;
    if (updates.fragments_share > 0) {
      const Computing<T> meanwhile = computing_in<T>(Window::computing, timing, i, step, 1);
      const T left = fragments - meanwhile.idle * updates.fragments_share;
      shown += lengthening<T>(left, meanwhile.kernels, updates.fragments_share, updates.slowdown);
    }
    if (!(shown < timing[Part::gradient_exchange])) {
      timing[Part::gradient_exchange] = shown;
      timing.hidden_exchange = larger<T>(none, all - shown);
      timing.critical.gradient_exchange = static_cast<int>(i);
    }
  }
  add_lone_waiting<T>(step, updates, x, timing);
  const T rest = timing.step_time();
  timing[Part::input] = step.input_window == Window::step ? larger<T>(none, timing.reading - rest) : timing.reading;
  timing.hidden_input = timing.reading - timing[Part::input];
}

[[nodiscard]] Breakdown breakdown_of(const Timing<double>& timing);

/// Returns the additional time of the slowest rank, as a share of the time in which a rank is disturbed.
[[nodiscard]] double disturbance_of(const Step& step);

/// A step without its division into stages. The result of shortest_run() is a lower bound for every
/// step with the same tasks.
struct RelaxedStep {
  Seconds busy{};      ///< lower bound of the busy time of all stages together for one micro-batch
  Seconds longest{};   ///< lower bound of the time of the longest stage for one micro-batch, with its waiting for ranks
  Seconds launches{};  ///< launch overheads of all stages for one micro-batch
  Seconds waiting{};   ///< lower bound of the time for which all stages together wait for the slowest rank, like `busy`
  Seconds fixed{};     ///< waiting for the framework, once per step
  Seconds hop{};       ///< lower bound of the time of one transfer across the slowest cut, in one direction
  double stages = 1, micro_batches = 1, chunks = 1;
  bool fills_bubbles = false;  ///< whether weight gradients may fill the bubble completely
  bool has_end = true;         ///< Step::has_end
  double pieces = 1;           ///< Step::pieces
};
/// Returns the step without its stages, as sums over its tasks.
[[nodiscard]] RelaxedStep relaxed(const Step& step);
/// Returns a lower bound of the time of run() for all steps with this relaxed step. The first micro-batch passes all stages.
/// The others follow at the pace of the longest stage, which takes at least the mean of the stages. If slots are as long as
/// the longest stage, a step takes at least this long, too.
[[nodiscard]] Seconds shortest_run(const RelaxedStep& step);
/// Returns a lower bound of the time of a step for choices that this step does not include. These choices may make
/// another stage the longest one, and all ranks wait for the work of that stage. The time that the longest stage waits
/// for other stages stays the same.
[[nodiscard]] Seconds least_run(const Step& step, const Timing<double>& timing);

}  // namespace ddl
