#pragma once

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

constexpr float norm_epsilon = 1e-5F;  ///< the number that a norm adds to the variance

/// The trained parameters of a norm: the scales of all channels, followed by the shifts.
struct NormParameters {
  explicit NormParameters(const Problem& problem)
      : scale(problem.operation->attribute_values().flag("scale", true)),
        shift(
            problem.operation->attribute_values().flag("bias", problem.operation->attribute_values().text("kind") != "rms")),
        channels(problem.output.channels) {}
  [[nodiscard]] std::int64_t items() const { return ((scale ? 1 : 0) + (shift ? 1 : 0)) * channels; }
  /// Pointers to scales and shifts in a buffer of the parameters; null for parameters that are not trained.
  [[nodiscard]] float* scales(float* parameters) const { return scale ? parameters : nullptr; }
  [[nodiscard]] float* shifts(float* parameters) const { return shift ? parameters + (scale ? channels : 0) : nullptr; }

  bool scale, shift;
  std::int64_t channels;
};

// Kernels of norms that oneDNN lacks.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_group_norm(const Problem& problem);
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_rms_norm(const Problem& problem);

}  // namespace ddl::onednn
