#include <algorithm>
#include <cmath>

#include "profiler/backends/onednn/norms.hpp"

namespace ddl::onednn {
namespace {

struct Row {
  const float *x, *scales, *shifts;  ///< scales and shifts may be null
  std::int64_t channels;
};

/// Normalizes a row, and returns the reciprocal of its root mean square.
[[gnu::target_clones("avx512f", "avx2", "default")]] float normalize(const Row& row, float* y) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t c = 0; c < row.channels; ++c) squares += row.x[c] * row.x[c];
  const float inverse = 1 / std::sqrt(squares / static_cast<float>(row.channels) + norm_epsilon);
  if (row.scales == nullptr) {  // NOLINT(bugprone-branch-clone): compares pragmas, not loops
#pragma omp simd
    for (std::int64_t c = 0; c < row.channels; ++c) y[c] = row.x[c] * inverse;
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < row.channels; ++c) y[c] = row.x[c] * inverse * row.scales[c];
  }
  if (row.shifts == nullptr) return inverse;
#pragma omp simd
  for (std::int64_t c = 0; c < row.channels; ++c) y[c] += row.shifts[c];
  return inverse;
}

/// With s = Σ dy·scale·x over the n channels: dx = (dy·scale − x·s/(n·root²))/root. Adds to the gradients of scales and
/// shifts.
[[gnu::target_clones("avx512f", "avx2", "default")]] void gradient_of(const Row& row, const float* dy, float inverse,
                                                                      float* dx, float* to_scales, float* to_shifts) {
  const float* const x = row.x;
  float s = 0;
  if (row.scales == nullptr) {
#pragma omp simd reduction(+ : s)
    for (std::int64_t c = 0; c < row.channels; ++c) s += dy[c] * x[c];
  } else {
#pragma omp simd reduction(+ : s)
    for (std::int64_t c = 0; c < row.channels; ++c) {
      s += dy[c] * row.scales[c] * x[c];
      to_scales[c] += dy[c] * x[c] * inverse;
    }
  }
  const float slope = s * inverse * inverse * inverse / static_cast<float>(row.channels);
  if (row.scales == nullptr) {  // NOLINT(bugprone-branch-clone): compares pragmas, not loops
#pragma omp simd
    for (std::int64_t c = 0; c < row.channels; ++c) dx[c] = dy[c] * inverse - x[c] * slope;
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < row.channels; ++c) dx[c] = dy[c] * row.scales[c] * inverse - x[c] * slope;
  }
  if (to_shifts == nullptr) return;
#pragma omp simd
  for (std::int64_t c = 0; c < row.channels; ++c) to_shifts[c] += dy[c];
}

}  // namespace

// RMS norm [Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019].
std::unique_ptr<PreparedKernel> prepare_rms_norm(const Problem& problem) {
  // This pass is empty, because backward-data also computes the gradients of scale and shift.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const NormParameters parameters(problem);
  const bool trained = parameters.items() > 0;
  const std::int64_t channels = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t items = rows * channels;
  const bool forward = problem.pass == Pass::forward;
  std::vector<KernelTensor> tensors{{TensorRole::input, 0, items, false},
                                    {TensorRole::kept, 0, rows, forward},
                                    {forward ? TensorRole::output : TensorRole::output_gradient, 0, items, forward}};
  if (!forward) tensors.push_back({TensorRole::input_gradient, 0, items, true});
  if (trained) tensors.push_back({TensorRole::bias, 0, parameters.items(), false});
  if (trained && !forward) tensors.push_back({TensorRole::bias_gradient, 0, parameters.items(), true});
  return loop_kernel(std::move(tensors), [=](std::span<DeviceBuffer* const> buffers) {
    float* const all = trained ? floats(buffers[forward ? 3 : 4]) : nullptr;
    float* const gradients = trained && !forward ? floats(buffers[5]) : nullptr;
    if (gradients != nullptr) std::fill_n(gradients, parameters.items(), 0.0F);
    for (std::int64_t i = 0; i < rows; ++i) {
      const Row row{floats(buffers[0]) + i * channels, trained ? parameters.scales(all) : nullptr,
                    trained ? parameters.shifts(all) : nullptr, channels};
      if (forward) {
        floats(buffers[1])[i] = normalize(row, floats(buffers[2]) + i * channels);
      } else {
        gradient_of(row, floats(buffers[2]) + i * channels, floats(buffers[1])[i], floats(buffers[3]) + i * channels,
                    trained ? parameters.scales(gradients) : nullptr, trained ? parameters.shifts(gradients) : nullptr);
      }
    }
  });
}

}  // namespace ddl::onednn
