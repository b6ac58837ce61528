#pragma once

#include <optional>
#include <vector>

#include "cli/documents/scaling.hpp"
#include "cli/documents/study_outcomes.hpp"
#include "cli/report/chart.hpp"

namespace ddl {

/// Plots samples or tokens per second against the number of GPUs, with ideal linear scaling from the fewest GPUs. Each
/// global batch has its own curve. Empty if fewer than two points have a plan.
[[nodiscard]] std::optional<Chart> speed_plot(const std::vector<StudyOutcome>& points, const ScalingQuestion& question);

/// Plots the time of each point against its cost, with its interval, and shades what breaks the goals. Without prices, the
/// number of GPUs replaces the cost. Empty if fewer than two points have a plan.
[[nodiscard]] std::optional<Chart> sizing_plot(const std::vector<StudyOutcome>& points, const Scaling& scaling,
                                               const ScalingQuestion& question);

}  // namespace ddl
