#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// What a slice of a step is spent on.
enum class StepWork {
  forward,            ///< kernels
  backward,           ///< kernels: both gradients, or that of the input alone where the schedule divides them
  weight_gradient,    ///< kernels, where the schedule has them apart
  waiting,            ///< for the host, or for the slowest rank
  layer_exchange,     ///< layer-wise collectives and halos of one micro-batch
  transfer,           ///< to another stage
  input,              ///< what of reading samples nothing hides
  gradient_exchange,  ///< what of it nothing hides
  weight_update
};
[[nodiscard]] std::string_view to_string(StepWork work);
/// Whether it takes the network, and not the device.
[[nodiscard]] bool is_exchange(StepWork work);

/// Of StepSlice::stage: what is done once in an iteration, and as long as the slowest stage takes for it.
inline constexpr int every_stage = -1;

/// An interval in which a stage does one piece of work. Times are counted from the beginning of the iteration.
struct StepSlice {
  int stage = 0;
  StepWork work = StepWork::forward;
  std::int64_t micro_batch = 0;
  int stretch = 0;  ///< as Slot has it
  Seconds begin{}, end{};
};

/// A predicted iteration, slice by slice: reading samples, the schedule of all micro-batches, and what is done once. The
/// slices of a stage do not overlap, nor do those of every stage overlap any other.
struct StepTimeline {
  std::vector<StepSlice> slices;  ///< by their begin, then by stage
  int stages = 1;
  std::int64_t micro_batches = 1;
  int stretches = 1;  ///< of layers, on each stage
  Seconds iteration{};
  /// The estimate's time of all micro-batches over that of the schedule, run slot by slot: its closed form takes stages that
  /// differ, and transfers, in another way. Times of slices are multiplied by it, so that they end with the estimate.
  double pace = 1;
};

/// More slots of a schedule are not drawn.
inline constexpr std::int64_t most_drawn_slots = 300'000;

/// The timeline of a step whose time is `timing`, under the schedule of its plan. Nothing if the schedule has too many
/// slots.
[[nodiscard]] std::optional<StepTimeline> step_timeline(const Step& step, const Timing<double>& timing, const Plan& plan);
/// The same of a plan. Nothing either if the plan has no time.
[[nodiscard]] std::optional<StepTimeline> step_timeline(const Estimator& estimator, const Plan& plan);

}  // namespace ddl
