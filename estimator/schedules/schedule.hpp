#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// The pipeline schedule, which is the order in which stages process their micro-batches.
enum class Schedule { one_forward_one_backward, gpipe, zero_bubble, zero_bubble_v, dual_pipe };
[[nodiscard]] std::string_view to_string(Schedule schedule);

/// A pass of a micro-batch through a stage of a pipeline. Backward consists of two passes. The previous stage waits for the
/// gradient of the stage's input. Only the update waits for the gradients of the weights. Frameworks that do not separate
/// the two passes send the input gradient when both passes are done. In the orders of such frameworks, the input gradient is
/// therefore the last pass.
enum class SlotPass { forward, input_gradient, weight_gradient };
template <>
inline constexpr EnumNames<SlotPass> enum_names<SlotPass>{"forward", "input_gradient", "weight_gradient"};

/// One unit of work of a stage: one pass of one micro-batch through a model chunk. In an interleaved schedule, a stage has
/// several model chunks of consecutive layers. In other schedules, a stage has only chunk 0.
struct Slot {
  int stage = 0;
  int chunk = 0;
  SlotPass pass = SlotPass::forward;
  std::int64_t micro_batch = 0;
  /// Whether the slot is overlapped with the next slot. The results of both slots are then available when both have ended.
  bool joined = false;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// The path of micro-batches through the model chunks of all stages.
enum class Course {
  around,          ///< through all stages from first to last, once for each chunk
  there_and_back,  ///< from the first stage to the last stage and back; the last stage has two consecutive chunks
  both_ways,       ///< half of the micro-batches from the first stage to the last, half in the opposite direction
};

/// The bubble as a share of a stage's time for one micro-batch, for each pass.
struct BubbleShares {
  double forward = 1, input_gradient = 1, weight_gradient = 1;
};

/// A pipeline schedule: the order of the slots of each stage, and its closed forms. Each schedule has its own file.
struct ScheduleOrder {
  Schedule schedule;
  std::string_view name;  ///< name of the schedule as users write it: `1f1b`
  /// Returns all slots of one stage, in order. Each micro-batch has one slot of each pass in each
  /// of the `chunks` model chunks, or in one of two chunks if micro-batches go in both directions.
  std::vector<Slot> (*slots)(int stage, int stages, std::int64_t micro_batches, int chunks);
  /// Returns the maximum number of micro-batches whose activations the stage holds, because their forward is done and their
  /// backward is not. With several chunks, each chunk holds its part of a micro-batch.
  double (*in_flight)(int stage, int stages, double micro_batches, int chunks);
  /// Returns the share of each pass that counts as bubble. The bubble is the sum over all stages
  /// but one, and never below zero.
  BubbleShares (*bubble)(int stages, int chunks);
  Course course = Course::around;
  int chunks = 1;                ///< number of model chunks that the schedule requires on each stage
  bool fills_bubbles = false;    ///< weight gradients are computed while a stage would otherwise be idle
  bool keeps_two_parts = false;  ///< whether a rank has the layers of its own stage and of the mirror stage at the other end
  /// The numbers of micro-batches and of stages must be multiples of `multiple`. A stage must have at least `fewest`
  /// micro-batches, and a pipeline at least `fewest_stages` stages.
  int multiple = 1, fewest = 0, fewest_stages = 1;

  /// Returns whether the schedule supports this many stages and micro-batches.
  [[nodiscard]] bool takes(int stages, std::int64_t micro_batches) const {
    return stages == 1 || (stages >= fewest_stages && stages % multiple == 0 && micro_batches % multiple == 0 &&
                           micro_batches >= static_cast<std::int64_t>(fewest) * stages);
  }
};
extern const ScheduleOrder gpipe_order;
extern const ScheduleOrder one_forward_one_backward_order;
extern const ScheduleOrder zero_bubble_order;
extern const ScheduleOrder zero_bubble_v_order;
extern const ScheduleOrder dual_pipe_order;

[[nodiscard]] std::span<const ScheduleOrder* const> all_schedules();
[[nodiscard]] const ScheduleOrder& order_of(Schedule schedule);

/// Returns the number of micro-batches whose activations stage `stage` of `stages` holds at once.
/// Returns 1 without a pipeline, because each micro-batch is done before the next one begins.
[[nodiscard]] double micro_batches_in_flight(Schedule schedule, int stage, int stages, double micro_batches, int chunks = 1);
/// Returns how many of micro_batches_in_flight() are in the mirror stage, whose layers the rank also has; 0 without one.
[[nodiscard]] double mirrored_in_flight(Schedule schedule, int stage, int stages, double micro_batches);

/// The times of one model chunk of a stage for one micro-batch. A stage cannot compute while it sends.
struct StageSlots {
  Seconds forward{}, input_gradient{}, weight_gradient{};
  Seconds to_next{};      ///< sending activations to the stage of the next layers; unused for the last layers
  Seconds to_previous{};  ///< sending gradients to the stage of the previous layers; unused for the first layers
};

/// A slot with its times, counted from the start of the step.
struct TimedSlot {
  Slot slot;
  Seconds begin{};
  Seconds end{};      ///< end of the computation
  Seconds arrival{};  ///< arrival of the result at the stage that needs it; later than `end` if the result is sent
};

/// The timeline of a schedule: every slot of every stage with its times, in the order of each stage.
struct PipelineTimeline {
  std::vector<std::vector<TimedSlot>> stages;
  /// Returns the time from the start of the first slot to the end of the last slot and of its transfer, in seconds.
  [[nodiscard]] Seconds length() const;
};

/// Runs the slots of all stages as early as their order and dependencies allow. A forward waits for the activations of the
/// previous stage. The two gradients wait for the input gradient of the next stage, or in the last stage for the stage's own
/// forward. The route of micro-batches (Course) defines the order of chunks. `chunks`: the number of model chunks of an
/// interleaved schedule. Throws Error if an order makes two stages wait for each other.
[[nodiscard]] PipelineTimeline run_schedule(const ScheduleOrder& order, std::span<const StageSlots> stages,
                                            std::int64_t micro_batches, int chunks = 1);

}  // namespace ddl
