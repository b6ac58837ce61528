#pragma once

#include <optional>
#include <vector>

#include "cli/documents/scaling.hpp"
#include "cli/documents/study_comparison.hpp"
#include "cli/report/chart.hpp"

namespace ddl {

/// Plots samples or tokens per second against the number of GPUs, with ideal linear scaling from the fewest GPUs. Each
/// global batch has its own curve. Empty if fewer than two points have a plan.
[[nodiscard]] std::optional<Chart> speed_plot(const std::vector<StudyOutcome>& points, const ScalingQuestion& question);

/// Plots the cost of each point against its time, with the Pareto front. Empty without prices, or
/// if fewer than two points have a plan.
[[nodiscard]] std::optional<Chart> money_plot(const std::vector<StudyOutcome>& points, const Scaling& scaling);

}  // namespace ddl
