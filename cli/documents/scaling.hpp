#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/documents/study_outcomes.hpp"
#include "cli/options/goals.hpp"

namespace ddl {

/// The question about several numbers of GPUs or batches.
struct ScalingQuestion {
  Goals goals{};
  bool fixed_batch = false;  ///< whether the global batch is fixed (strong scaling), not the batch per GPU
};

/// The results of comparing all points. Each list has one entry per point.
struct Scaling {
  /// Throughput per GPU, relative to the point with the fewest GPUs among the points that have a plan. If the batch is
  /// fixed, only points with the same global batch are compared. Empty for a point without a plan.
  std::vector<std::optional<double>> efficiency;
  /// Whether the point is on the Pareto front of time and cost. Always false without prices.
  std::vector<bool> on_front;
  /// The probability that the point meets the goals; 0 without a plan. Without an interval of its time, 0 or 1.
  std::vector<double> chance;
  /// The best points that meet the goals at the upper ends of their intervals. If no such point exists, the best points that
  /// are likely to meet the goals.
  std::optional<std::size_t> cheapest{}, fastest{};
};
[[nodiscard]] Scaling scaling_of(const std::vector<StudyOutcome>& points, const ScalingQuestion& question);

/// Reports on one study at several numbers of GPUs or batches: how the best plans scale, their costs, and which points meet
/// the goals. Throws the first point's Error if no point has an answer.
[[nodiscard]] Report scaling_report(std::vector<StudyOutcome> points, const ScalingQuestion& question);

}  // namespace ddl
