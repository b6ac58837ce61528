#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// A published batch size at which a model was trained to a target, and the number of samples until the target was reached.
struct ConvergencePoint {
  std::int64_t batch = 1;
  double samples = 0;
  int runs = 1;
};

/// The trade-off between steps and samples of [McCandlish et al., "An empirical model of large-batch training", 2018,
/// equation 2.11]: (S/S_min - 1)(E/E_min - 1) = 1. With E = B S, training takes E = E_min (1 + B / B_crit) samples at a
/// batch of B. At the critical batch B_crit, training takes 2 E_min samples and 2 S_min steps.
struct NoiseScale {
  double least_samples = 0, critical_batch = 0;
  double worst_error = 0;  ///< largest relative error of a point
};

/// The published number of samples that a model needs to reach a target, by global batch.
struct Convergence {
  std::string model, target, source;
  std::optional<std::int64_t> tokens{};    ///< tokens per sample, for models of sequences
  std::vector<ConvergencePoint> points{};  ///< at least two points, in order of increasing batch

  [[nodiscard]] std::int64_t least_batch() const { return points.front().batch; }
  [[nodiscard]] std::int64_t most_batch() const { return points.back().batch; }
  /// Returns the number of samples that training at this batch needs to reach the target. The number is interpolated
  /// linearly on logarithmic axes between two published batches. Empty outside of the range of the published batches.
  [[nodiscard]] std::optional<double> samples_at(std::int64_t batch) const;
  /// Returns the fit with the least sum of squared relative errors; empty if the number of samples
  /// does not grow with the batch.
  [[nodiscard]] std::optional<NoiseScale> noise_scale() const;
};

/// Returns the names of the bundled models with convergence data.
[[nodiscard]] std::vector<std::string> convergence_names();
/// Returns the convergence data of this model. Empty if no data was published for the model, or
/// only data for samples of another length.
[[nodiscard]] std::optional<Convergence> convergence_of(const Model& model);
[[nodiscard]] Convergence parse_convergence(std::string text, std::string origin);

}  // namespace ddl
