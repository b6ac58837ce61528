#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// A batch at which somebody has trained a model to a target, and the samples that took.
struct ConvergencePoint {
  std::int64_t batch = 1;
  double samples = 0;
  int runs = 1;
};

/// The trade between steps and samples of [McCandlish et al., "An empirical model of large-batch training", 2018, equation
/// 2.11]: (S/S_min - 1)(E/E_min - 1) = 1. With E = B S, it takes E = E_min (1 + B / B_crit) samples at a batch of B. At the
/// critical batch, both the samples and the steps are twice the least.
struct NoiseScale {
  double least_samples = 0, critical_batch = 0;
  double worst_error = 0;  ///< of a point, relative
};

/// How many samples a model needs to a target, by the global batch, as somebody has published it.
struct Convergence {
  std::string model, target, source;
  std::optional<std::int64_t> tokens{};    ///< of a sample, of a model of sequences
  std::vector<ConvergencePoint> points{};  ///< at least two, by ascending batch

  [[nodiscard]] std::int64_t least_batch() const { return points.front().batch; }
  [[nodiscard]] std::int64_t most_batch() const { return points.back().batch; }
  /// Samples to the target: those of a point, else between its neighbours, straight on logarithmic axes. Nothing outside of
  /// the published batches.
  [[nodiscard]] std::optional<double> samples_at(std::int64_t batch) const;
  /// The least squares of relative errors; nothing where the samples do not grow with the batch.
  [[nodiscard]] std::optional<NoiseScale> noise_scale() const;
};

/// The bundled models of which it is known.
[[nodiscard]] std::vector<std::string> convergence_names();
/// Of this model, with samples as long as they were trained with; nothing where nobody has published it.
[[nodiscard]] std::optional<Convergence> convergence_of(const Model& model);
[[nodiscard]] Convergence parse_convergence(std::string text, std::string origin);

}  // namespace ddl
