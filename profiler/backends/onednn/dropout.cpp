#include <random>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

/// Prepares a dropout of whole samples, with one mask value per sample.
std::unique_ptr<PreparedKernel> prepare_of_samples(const Problem& problem, float scale, std::uint32_t threshold) {
  const std::int64_t samples = problem.samples;
  const std::int64_t each = problem.output.items();
  const bool forward = problem.pass == Pass::forward;
  return loop_kernel({{TensorRole::kept, 0, samples, forward},
                      {forward ? TensorRole::input : TensorRole::output_gradient, 0, samples * each, false},
                      {forward ? TensorRole::output : TensorRole::input_gradient, 0, samples * each, true}},
                     [=, random = std::mt19937()](std::span<DeviceBuffer* const> buffers) mutable {
                       for (std::int64_t s = 0; s < samples; ++s) {
                         float& factor = floats(buffers[0])[s];
                         if (forward) factor = random() >= threshold ? scale : 0.0F;
                         const float kept = factor;
                         const float* from = floats(buffers[1]) + s * each;
                         float* to = floats(buffers[2]) + s * each;
                         for (std::int64_t i = 0; i < each; ++i) to[i] = from[i] * kept;
                       }
                     });
}

// Each run of the kernel draws a new mask, with the generator that frameworks use on CPUs. Drawing takes most of the time.
std::unique_ptr<PreparedKernel> prepare_dropout(const Device& /*device*/, const Problem& problem) {
  const double rate = problem.operation->attribute_values().number("rate", 0);
  if (problem.pass == Pass::backward_weight || rate == 0) return empty_kernel();
  const std::int64_t items = problem.samples * problem.output.items();
  const auto scale = rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0F;
  const auto threshold = static_cast<std::uint32_t>(std::min(rate * 4294967296.0, 4294967295.0));
  if (problem.operation->attribute_values().text("of") == "samples") return prepare_of_samples(problem, scale, threshold);
  if (problem.pass == Pass::forward) {
    return loop_kernel(
        {{TensorRole::input, 0, items, false}, {TensorRole::kept, 0, items, true}, {TensorRole::output, 0, items, true}},
        [items, scale, threshold, random = std::mt19937()](std::span<DeviceBuffer* const> buffers) mutable {
          const float* from = floats(buffers[0]);
          float* mask = floats(buffers[1]);
          float* to = floats(buffers[2]);
          for (std::int64_t i = 0; i < items; ++i) mask[i] = random() >= threshold ? scale : 0.0F;
          for (std::int64_t i = 0; i < items; ++i) to[i] = from[i] * mask[i];
        });
  }
  return loop_kernel({{TensorRole::kept, 0, items, false},
                      {TensorRole::output_gradient, 0, items, false},
                      {TensorRole::input_gradient, 0, items, true}},
                     [items](std::span<DeviceBuffer* const> buffers) {
                       const float* mask = floats(buffers[0]);
                       const float* from = floats(buffers[1]);
                       float* to = floats(buffers[2]);
                       for (std::int64_t i = 0; i < items; ++i) to[i] = from[i] * mask[i];
                     });
}

}  // namespace

const Kind dropout{"dropout", only_fp32, prepare_dropout};

}  // namespace ddl::onednn
