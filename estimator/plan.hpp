#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model_zoo/optimizer.hpp"
#include "model_zoo/precision.hpp"

namespace ddl {

/// A dimension along which ranks divide the work. The order here is the default placement, innermost first.
enum class Axis { tensor, channel, filter, spatial, data, layer };
inline constexpr std::size_t axis_count = 6;
inline constexpr std::array<Axis, axis_count> all_axes{Axis::tensor,  Axis::channel, Axis::filter,
                                                       Axis::spatial, Axis::data,    Axis::layer};
[[nodiscard]] std::string_view to_string(Axis axis);
[[nodiscard]] std::optional<Axis> parse_axis(std::string_view text);

/// The order in which the stages of a pipeline take their micro-batches.
enum class Schedule { gpipe, one_forward_one_backward };
[[nodiscard]] std::string_view to_string(Schedule schedule);
[[nodiscard]] std::optional<Schedule> parse_schedule(std::string_view text);

/// What is computed again in backward instead of being kept.
enum class Recompute { none, full };
[[nodiscard]] std::string_view to_string(Recompute recompute);
[[nodiscard]] std::optional<Recompute> parse_recompute(std::string_view text);

/// One way to train: a degree per axis and everything else that is chosen, not given. The product of the degrees is the
/// number of devices. A plan is only a point in the search space; what it costs is an Estimate.
struct Plan {
  int data = 1;
  std::array<int, 3> spatial{1, 1, 1};  ///< along the extents of a sample, first one first (d×h×w or h×w)
  int layer = 1;                        ///< pipeline stages
  int filter = 1;
  int channel = 1;
  int tensor = 1;
  std::int64_t global_batch = 1;   ///< B, samples per iteration
  std::int64_t micro_batches = 1;  ///< S, the parts a rank's share of B is cut into
  Schedule schedule = Schedule::one_forward_one_backward;
  std::array<Axis, axis_count> placement = all_axes;  ///< neighbours first: the leading axes live inside a node
  int zero_stage = 0;                                 ///< 0 none, 1 optimizer, 2 + gradients, 3 + weights
  Recompute recompute = Recompute::none;
  Optimizer optimizer = Optimizer::sgd;
  Precision precision = Precision::fp32;

  friend bool operator==(const Plan&, const Plan&) = default;
};

[[nodiscard]] int degree(const Plan& plan, Axis axis);
[[nodiscard]] std::int64_t devices(const Plan& plan);
/// Samples of one micro-batch on one rank (the largest share where B does not divide evenly).
[[nodiscard]] double samples_per_micro_batch(const Plan& plan);

/// A set of axes: the family a plan belongs to, `data+filter`.
using Family = unsigned;
[[nodiscard]] constexpr Family family_bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
/// The axes along which the plan divides anything; 0 is `serial`.
[[nodiscard]] Family family_of(const Plan& plan);
/// `data+spatial+layer`, or `serial`.
[[nodiscard]] std::string family_name(Family family);
/// Reads `data+filter`; `hmodel` is a published spelling of tensor. Nothing when a part is unknown or named twice.
[[nodiscard]] std::optional<Family> parse_family(std::string_view text);

/// `data=64 spatial=2x2`: the degrees above one, in a fixed order; `1 device` for serial.
[[nodiscard]] std::string degrees_text(const Plan& plan);
/// The axes above one, innermost first: `filter,data`.
[[nodiscard]] std::string placement_text(const Plan& plan);

}  // namespace ddl
