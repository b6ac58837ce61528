#include <algorithm>

#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

bool is_trained(const Problem& problem) { return problem.operation->attribute_values().text("factor") == "trained"; }

std::string refusal_scale(const Problem& problem) { return is_trained(problem) ? only_fp32(problem) : std::string(); }

std::unique_ptr<PreparedKernel> prepare_constant(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const auto factor = static_cast<float>(problem.operation->attribute_values().number("factor", 1));
  const std::int64_t items = problem.samples * problem.output.items();
  const dnnl::memory::desc data = dense({items}, data_type(problem.precision));
  const bool forward = problem.pass == Pass::forward;
  // Forward multiplies the input by a constant; backward multiplies the gradient by the same constant.
  const dnnl::eltwise_forward::primitive_desc description =
      describe_function(device, own_scratchpad(), dnnl::algorithm::eltwise_linear, data, factor, 0.0F);
  return primitive_kernel(
      device, dnnl::eltwise_forward(description), description.scratchpad_desc(), description.impl_info_str(),
      {{{forward ? TensorRole::input : TensorRole::output_gradient, 0, items, false}, DNNL_ARG_SRC, data, data},
       {{forward ? TensorRole::output : TensorRole::input_gradient, 0, items, true}, DNNL_ARG_DST, data, data}});
}

[[gnu::target_clones("avx512f", "avx2", "default")]] void scale_shift(const float* from, float factor, float shift,
                                                                      float* to, std::int64_t items) {
#pragma omp simd
  for (std::int64_t i = 0; i < items; ++i) to[i] = from[i] * factor + shift;
}

struct Sums {
  float factor, shift;
};
[[gnu::target_clones("avx512f", "avx2", "default")]] Sums sums_of(const float* x, const float* dy, std::int64_t items) {
  float factor = 0, shift = 0;
#pragma omp simd reduction(+ : factor, shift)
  for (std::int64_t i = 0; i < items; ++i) {
    factor += x[i] * dy[i];
    shift += dy[i];
  }
  return {factor, shift};
}

/// Multiplies a token's elements by the factors of their channels.
[[gnu::target_clones("avx512f", "avx2", "default")]] void scale_token(const float* from, const float* factors,
                                                                      const float* shifts, float* to,
                                                                      std::int64_t channels) {
  if (shifts == nullptr) {
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) to[c] = from[c] * factors[c];
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) to[c] = from[c] * factors[c] + shifts[c];
  }
}
[[gnu::target_clones("avx512f", "avx2", "default")]] void add_token(const float* x, const float* dy, float* factors,
                                                                    float* shifts, std::int64_t channels) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) factors[c] += x[c] * dy[c];
  if (shifts == nullptr) return;
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) shifts[c] += dy[c];
}

// The trained parameters are the factors of all channels, followed by the shifts.
std::unique_ptr<PreparedKernel> prepare_trained(const Problem& problem) {
  const bool has_shift = problem.operation->attribute_values().flag("bias", false);
  const std::int64_t channels = problem.output.channels;
  // In images, the elements of a channel are contiguous; in sequences, channels are innermost.
  const bool tokens = problem.output.sequence;
  const std::int64_t each = tokens ? channels : problem.output.positions();
  const std::int64_t items = problem.samples * problem.output.items();
  const KernelTensor trained{TensorRole::bias, 0, (has_shift ? 2 : 1) * channels, false};
  if (problem.pass != Pass::backward_weight) {
    const bool forward = problem.pass == Pass::forward;
    return loop_kernel({{forward ? TensorRole::input : TensorRole::output_gradient, 0, items, false},
                        trained,
                        {forward ? TensorRole::output : TensorRole::input_gradient, 0, items, true}},
                       [=](std::span<DeviceBuffer* const> buffers) {
                         const float* factors = floats(buffers[1]);
                         const float* shifts = has_shift && forward ? factors + channels : nullptr;
                         for (std::int64_t i = 0; i < items / each; ++i) {
                           const float* from = floats(buffers[0]) + i * each;
                           float* to = floats(buffers[2]) + i * each;
                           if (tokens) {
                             scale_token(from, factors, shifts, to, channels);
                           } else {
                             const std::int64_t c = i % channels;
                             scale_shift(from, factors[c], shifts == nullptr ? 0.0F : shifts[c], to, each);
                           }
                         }
                       });
  }
  return loop_kernel({{TensorRole::input, 0, items, false},
                      {TensorRole::output_gradient, 0, items, false},
                      {TensorRole::bias_gradient, 0, trained.items, true}},
                     [=](std::span<DeviceBuffer* const> buffers) {
                       float* factors = floats(buffers[2]);
                       float* shifts = has_shift ? factors + channels : nullptr;
                       std::fill_n(factors, trained.items, 0.0F);
                       for (std::int64_t i = 0; i < items / each; ++i) {
                         const float* x = floats(buffers[0]) + i * each;
                         const float* dy = floats(buffers[1]) + i * each;
                         if (tokens) {
                           add_token(x, dy, factors, shifts, channels);
                           continue;
                         }
                         const Sums sums = sums_of(x, dy, each);
                         factors[i % channels] += sums.factor;
                         if (shifts != nullptr) shifts[i % channels] += sums.shift;
                       }
                     });
}

std::unique_ptr<PreparedKernel> prepare_scale(const Device& device, const Problem& problem) {
  return is_trained(problem) ? prepare_trained(problem) : prepare_constant(device, problem);
}

}  // namespace

const Kind scale{"scale", refusal_scale, prepare_scale};

}  // namespace ddl::onednn
