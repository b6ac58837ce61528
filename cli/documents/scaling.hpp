#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/documents/study_comparison.hpp"
#include "cli/options/goals.hpp"

namespace ddl {

/// The question about several numbers of GPUs or batches.
struct ScalingQuestion {
  Goals goals{};
  bool fixed_batch = false;  ///< whether the global batch is fixed (strong scaling), not the batch per GPU
};

/// The results of comparing all points. Each list has one entry per point.
struct Scaling {
  /// Throughput per GPU, relative to the point with the fewest GPUs that has a plan (and has the same global batch, if the
  /// batch is fixed). Empty for a point without a plan.
  std::vector<std::optional<double>> efficiency;
  /// Whether the point is on the Pareto front of time and cost. Always false without prices.
  std::vector<bool> on_front;
  std::vector<bool> meets;                           ///< whether it meets the goals; without goals, whether it has a plan
  std::optional<std::size_t> cheapest{}, fastest{};  ///< the best points that meet the goals
};
[[nodiscard]] Scaling scaling_of(const std::vector<StudyOutcome>& points, const ScalingQuestion& question);

/// Reports on one study at several numbers of GPUs or batches: how the best plans scale, their costs, and which points meet
/// the goals. Throws the first point's Error if no point has an answer.
[[nodiscard]] Report scaling_report(std::vector<StudyOutcome> points, const ScalingQuestion& question);

}  // namespace ddl
