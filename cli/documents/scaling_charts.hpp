#pragma once

#include <optional>
#include <vector>

#include "cli/documents/scaling.hpp"
#include "cli/documents/study_comparison.hpp"
#include "cli/report/chart.hpp"

namespace ddl {

/// Samples or tokens per second by the number of GPUs, and ideal linear scaling from the fewest GPUs, as if each added as
/// much; a curve for each global batch where several are asked for. Nothing if fewer than two points have a plan.
[[nodiscard]] std::optional<Chart> speed_plot(const std::vector<StudyOutcome>& points, const ScalingQuestion& question);

/// What each point costs by the time that it takes, and which of them no other one beats in both. Nothing without prices,
/// and where fewer than two points have a plan.
[[nodiscard]] std::optional<Chart> money_plot(const std::vector<StudyOutcome>& points, const Scaling& scaling);

}  // namespace ddl
