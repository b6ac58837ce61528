#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// The activity of a slice of a step.
enum class StepWork {
  forward,            ///< forward kernels
  backward,           ///< backward kernels of both gradients; only of the input gradient if the schedule separates them
  weight_gradient,    ///< kernels of the weight gradients, if the schedule separates the gradients
  waiting,            ///< waiting for the host, or for the slowest rank
  layer_exchange,     ///< layer-wise collectives and halos of one micro-batch
  transfer,           ///< transfer to another stage
  input,              ///< exposed part of reading samples
  gradient_exchange,  ///< exposed part of the exchange of gradients
  weight_update
};
template <>
inline constexpr EnumNames<StepWork> enum_names<StepWork>{"forward", "backward",          "weight gradient",
                                                          "waiting", "layer exchange",    "transfer",
                                                          "input",   "gradient exchange", "weight update"};
/// Returns whether the activity uses the network, and not the device.
[[nodiscard]] bool is_exchange(StepWork work);

/// Value of StepSlice::stage for work that is done once per step. The slice is as long as in the slowest stage.
inline constexpr int every_stage = -1;

/// An interval in which a stage does one type of work. Times are relative to the beginning of the step.
struct StepSlice {
  int stage = 0;
  StepWork work = StepWork::forward;
  std::int64_t micro_batch = 0;
  int chunk = 0;  ///< model chunk, as in Slot::chunk
  Seconds begin{}, end{};
};

/// A predicted step as slices: reads of samples, the schedule of all micro-batches, and the work that is done once per step.
/// The slices of a stage do not overlap. Slices of `every_stage` overlap with no other slice.
struct StepTimeline {
  std::vector<StepSlice> slices;  ///< sorted by begin, then by stage
  int stages = 1;
  std::int64_t micro_batches = 1;
  int chunks = 1;  ///< number of virtual stages on each stage
  Seconds step_time{};
  /// The estimated time of all micro-batches, divided by the time of the schedule that is run slot by slot. The two times
  /// differ because the closed form of the estimate treats unequal stages, and transfers, differently. Times of slices are
  /// multiplied by this ratio, so that the last slice ends at the estimated time.
  double pace = 1;
  /// Communication that is hidden behind compute of the same stage, and therefore takes no time of its own. A slice begins
  /// with the compute that it overlaps with, or ends with it; the true begin is not known.
  std::vector<StepSlice> hidden{};
};

/// Schedules with more slots have no timeline.
inline constexpr std::int64_t most_drawn_slots = 300'000;

/// Returns the timeline of a step under the schedule of its plan; empty if the schedule has too many slots.
[[nodiscard]] std::optional<StepTimeline> step_timeline(const Step& step, const Timing<double>& timing, const Plan& plan);
/// Returns the timeline of a plan; empty if the schedule has too many slots, or if the plan has no time.
[[nodiscard]] std::optional<StepTimeline> step_timeline(const Estimator& estimator, const Plan& plan);

}  // namespace ddl
