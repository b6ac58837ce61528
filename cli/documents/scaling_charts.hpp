#pragma once

#include <optional>
#include <vector>

#include "cli/documents/scaling.hpp"
#include "cli/documents/study_comparison.hpp"
#include "cli/report/chart.hpp"

namespace ddl {

/// Samples or tokens per second by the number of GPUs, and ideal linear scaling from the fewest GPUs; a curve for each
/// global batch if there are several. Empty if fewer than two points have a plan.
[[nodiscard]] std::optional<Chart> speed_plot(const std::vector<StudyOutcome>& points, const ScalingQuestion& question);

/// The cost of each point by its time, with the Pareto front. Empty without prices, or if fewer than two points have a
/// plan.
[[nodiscard]] std::optional<Chart> money_plot(const std::vector<StudyOutcome>& points, const Scaling& scaling);

}  // namespace ddl
