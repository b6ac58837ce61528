#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// A pass of a micro-batch in a stage of a pipeline. Backward has two passes. The stage before waits for the gradient of the
/// stage's input. Nothing waits for the gradient of its weights until the update. Frameworks that run backward as a whole
/// send the gradient of the input when both are done: their orders have it last.
enum class SlotPass { forward, input_gradient, weight_gradient };
[[nodiscard]] std::string_view to_string(SlotPass pass);

/// One piece of the work of a stage. In an interleaved schedule, a stage has several stretches of consecutive layers; in
/// others, only stretch 0.
struct Slot {
  int stage = 0;
  int stretch = 0;
  SlotPass pass = SlotPass::forward;
  std::int64_t micro_batch = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// A schedule of a pipeline: the order in which each stage does its slots, and its closed forms. One file each.
struct ScheduleOrder {
  Schedule schedule;
  std::string_view name;  ///< as users write it: `1f1b`
  /// All slots of one stage, in the order in which it does them. Each micro-batch has one slot of each pass in each of the
  /// `stretches`.
  std::vector<Slot> (*slots)(int stage, int stages, std::int64_t micro_batches, int stretches);
  /// Micro-batches whose activations the stage holds at most: those whose forward is done and whose backward is not. Of
  /// several stretches, each holds its part of a micro-batch.
  double (*in_flight)(int stage, int stages, double micro_batches, int stretches);
};
extern const ScheduleOrder gpipe_order;
extern const ScheduleOrder one_forward_one_backward_order;

[[nodiscard]] std::span<const ScheduleOrder* const> all_schedules();
[[nodiscard]] const ScheduleOrder& order_of(Schedule schedule);

/// Returns the number of micro-batches whose activations stage `stage` of `stages` holds at once. It is 1 without a
/// pipeline, because each micro-batch is done before the next one begins.
[[nodiscard]] double micro_batches_in_flight(Schedule schedule, int stage, int stages, double micro_batches,
                                             int stretches = 1);

/// The times of one stretch of a stage for one micro-batch. A stage that sends does nothing else meanwhile.
struct StageSlots {
  Seconds forward{}, input_gradient{}, weight_gradient{};
  Seconds to_next{};      ///< activations to the stage of the next layers; of the last layers not used
  Seconds to_previous{};  ///< gradients to the stage of the layers before; of the first layers not used
};

/// A slot with its times, counted from the begin of the step.
struct TimedSlot {
  Slot slot;
  Seconds begin{};
  Seconds end{};      ///< of the work
  Seconds arrival{};  ///< of its result where it is needed; later than `end` if it is sent
};

/// The timeline of a schedule: every slot of every stage with its times, in the order of each stage.
struct PipelineTimeline {
  std::vector<std::vector<TimedSlot>> stages;
  /// Returns the time from the begin of the first slot to the end of the last one and of its transfer.
  [[nodiscard]] Seconds length() const;
  /// Returns the time between the begin and the end of the step in which the stage neither computes nor sends.
  [[nodiscard]] Seconds bubble(int stage) const;
  /// Returns the largest number of micro-batches whose forward the stage has begun and whose two gradients it has not both
  /// ended, counted in each of its stretches.
  [[nodiscard]] std::int64_t most_in_flight(int stage) const;
};

/// Does the slots of all stages as early as their order and what they wait for allow: a forward waits for the activations of
/// the stage before, both gradients for the input gradient of the next stage, or in the last stage for its own forward.
/// Behind the last stage follows the next stretch of the first. Throws Error where an order makes two stages wait for each
/// other.
[[nodiscard]] PipelineTimeline run_schedule(const ScheduleOrder& order, std::span<const StageSlots> stages,
                                            std::int64_t micro_batches, int stretches = 1);

/// Returns the length of the timeline by a closed form: the first micro-batch passes all stages, the others follow at the
/// pace of the longest stage, and transfers take 2(p+S−2) hops [ParaDL, Table III; Nar21]. It equals the timeline of GPipe
/// and 1F1B if all stages are equal and send nothing, and that of GPipe if they are equal.
[[nodiscard]] Seconds uniform_length(std::span<const StageSlots> stages, std::int64_t micro_batches);

}  // namespace ddl
