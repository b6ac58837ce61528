#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/documents/study_comparison.hpp"
#include "cli/options/goals.hpp"

namespace ddl {

/// What is asked about several numbers of GPUs or batches.
struct ScalingQuestion {
  Goals goals{};
  bool fixed_batch = false;  ///< strong scaling: the global batch is given; else that of a GPU is (weak scaling)
};

/// What is known of the points together, each at the place of its point.
struct Scaling {
  /// Samples in a second and GPU, over those of the fewest GPUs with a plan; of as large a global batch, where that is
  /// fixed. Nothing for a point without a plan.
  std::vector<std::optional<double>> efficiency;
  /// Whether no other point takes less time for no more money, or less money for no more time; none without prices.
  std::vector<bool> on_front;
  std::vector<bool> meets;                           ///< the goals; where there are none, every point with a plan
  std::optional<std::size_t> cheapest{}, fastest{};  ///< of those that meet the goals
};
[[nodiscard]] Scaling scaling_of(const std::vector<StudyOutcome>& points, const ScalingQuestion& question);

/// One study on several numbers of GPUs, with several batches: how its best plans scale, what they cost, and which points
/// meet the goals. Throws the first point's Error where none could be answered.
[[nodiscard]] Report scaling_report(std::vector<StudyOutcome> points, const ScalingQuestion& question);

}  // namespace ddl
