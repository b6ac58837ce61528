#include <cmath>
#include <type_traits>

#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/norms.hpp"

namespace ddl::onednn {
namespace {

using dnnl::memory;
using dnnl::normalization_flags;

std::string refusal_norm(const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::string_view kind = attributes.text("kind");
  const TensorShape& shape = problem.output;
  if (kind == "batch" || kind == "layer") return {};
  if (kind != "rms" && shape.sequence) return "norms over groups of a token's channels are not supported by this back end";
  if (kind == "rms" && !shape.sequence && shape.rank > 0) {
    return "root mean squares over an image's channels are not supported by this back end";
  }
  return only_fp32(problem);
}

/// Describes a tensor with innermost channels, because a layer norm of oneDNN sums over the innermost dimension.
memory::desc channels_last(const TensorShape& shape, std::int64_t samples, Precision precision) {
  if (shape.sequence || shape.rank == 0) return tensor(shape, samples, precision);
  memory::dims dims{samples};
  memory::dims strides{shape.items()};
  std::int64_t stride = shape.positions();
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.rank); ++d) {
    stride /= shape.extent[d];
    dims.push_back(shape.extent[d]);
    strides.push_back(stride);
  }
  dims.push_back(shape.channels);
  strides.push_back(shape.positions());
  return {dims, data_type(precision), strides};
}

/// Describes tokens as an image of one row (samples, channels, tokens, one), because oneDNN has batch norms only for images.
memory::desc tokens_as_image(const TensorShape& shape, std::int64_t samples, Precision precision) {
  return {{samples, shape.channels, shape.extent[0], 1},
          data_type(precision),
          {shape.items(), 1, shape.channels, shape.channels}};
}

template <class Forward, class Backward>
std::unique_ptr<PreparedKernel> prepare_as(const Device& device, const Problem& problem, const memory::desc& plain,
                                           const memory::desc& inner) {
  const dnnl::primitive_attr scratch = own_scratchpad();
  const NormParameters parameters(problem);
  const bool one = parameters.scale != parameters.shift;
  const auto flags = parameters.items() == 0 ? normalization_flags::none
                     : !one                  ? scale_and_shift
                     : parameters.scale      ? normalization_flags::use_scale
                                             : normalization_flags::use_shift;
  const auto forward = describe_norm<Forward>(device, scratch, inner, norm_epsilon, flags);
  const std::int64_t items = problem.samples * problem.output.items();
  const memory::desc mean = forward.mean_desc();
  const memory::desc variance = forward.variance_desc();
  const auto count = [](const memory::desc& desc) { return static_cast<std::int64_t>(desc.get_size() / sizeof(float)); };
  const memory::desc channels = dense({parameters.channels}, memory::data_type::f32);
  const bool together = !one && norm_has_one_tensor;
  const memory::desc trained = together ? forward.weights_desc() : channels;
  std::vector<Argument> arguments;
  if (parameters.items() > 0) {
    const int name = !one ? scale_shift_argument : parameters.scale ? DNNL_ARG_SCALE : DNNL_ARG_SHIFT;
    arguments.push_back({{TensorRole::bias, 0, parameters.items(), false}, name, trained, trained});
    // No gradient depends on the shift, but in version 3 of the library, the shift is an input of a layer norm's gradient.
    const bool takes_shift = problem.pass == Pass::forward || std::is_same_v<Backward, dnnl::layer_normalization_backward>;
    if (!one && !together && takes_shift) arguments.back().behind = SecondTensor{DNNL_ARG_SHIFT, channels};
  }
  const auto statistic = [&](int index, bool written) {
    const memory::desc& desc = index == 0 ? mean : variance;
    return Argument{
        {TensorRole::kept, index, count(desc), written}, index == 0 ? DNNL_ARG_MEAN : DNNL_ARG_VARIANCE, desc, desc};
  };
  if (problem.pass == Pass::forward) {
    arguments.insert(arguments.end(), {{{TensorRole::input, 0, items, false}, DNNL_ARG_SRC, plain, inner},
                                       statistic(0, true),
                                       statistic(1, true),
                                       {{TensorRole::output, 0, items, true}, DNNL_ARG_DST, plain, inner}});
    return primitive_kernel(device, Forward(forward), forward.scratchpad_desc(), forward.impl_info_str(), arguments);
  }
  // Backward-data also computes the gradients of scale and shift, so backward-weight runs no kernel.
  if (problem.pass != Pass::backward_data) return empty_kernel();
  const auto kind = parameters.items() == 0 ? dnnl::prop_kind::backward_data : dnnl::prop_kind::backward;
  const auto backward = describe_norm_backward<Backward>(device, scratch, forward, kind, inner, norm_epsilon, flags);
  arguments.insert(arguments.end(), {{{TensorRole::input, 0, items, false}, DNNL_ARG_SRC, plain, inner},
                                     statistic(0, false),
                                     statistic(1, false),
                                     {{TensorRole::output_gradient, 0, items, false}, DNNL_ARG_DIFF_DST, plain, inner},
                                     {{TensorRole::input_gradient, 0, items, true}, DNNL_ARG_DIFF_SRC, plain, inner}});
  if (parameters.items() > 0) {
    const int name = !one ? scale_shift_gradient_argument : parameters.scale ? DNNL_ARG_DIFF_SCALE : DNNL_ARG_DIFF_SHIFT;
    arguments.push_back({{TensorRole::bias_gradient, 0, parameters.items(), true}, name, trained, trained});
    if (!one && !together) arguments.back().behind = SecondTensor{DNNL_ARG_DIFF_SHIFT, channels};
  }
  return primitive_kernel(device, Backward(backward), backward.scratchpad_desc(), backward.impl_info_str(), arguments);
}

/// One channel in the gradient of a batch norm. The planes of the channel are `stride` elements apart.
struct Channel {
  const float *source, *output_gradient;
  float* input_gradient;
  std::int64_t planes, positions, stride;
  float mean, deviation, scale;  ///< deviation of the elements, with norm_epsilon under the root
};
struct ScaleShift {
  float scale, shift;
};

/// With s = Σ dy·x̂ and t = Σ dy over the n elements of the channel: dx = scale/deviation · (dy − t/n − x̂·s/n) [Ioffe and
/// Szegedy, Batch Normalization, ICML 2015, section 3].
[[gnu::target_clones("avx512f", "avx2", "default")]] ScaleShift channel_gradient(const Channel& channel) {
  const float inverse = 1 / channel.deviation;
  const float mean = channel.mean;
  float scale = 0, shift = 0;
  for (std::int64_t plane = 0; plane < channel.planes; ++plane) {
    const float* const x = channel.source + plane * channel.stride;
    const float* const dy = channel.output_gradient + plane * channel.stride;
#pragma omp simd reduction(+ : scale, shift)
    for (std::int64_t i = 0; i < channel.positions; ++i) {
      shift += dy[i];
      scale += dy[i] * (x[i] - mean);
    }
  }
  scale *= inverse;
  const auto items = static_cast<float>(channel.planes * channel.positions);
  const float factor = channel.scale * inverse;
  const float slope = scale * inverse / items;
  const float offset = shift / items;
  for (std::int64_t plane = 0; plane < channel.planes; ++plane) {
    const float* const x = channel.source + plane * channel.stride;
    const float* const dy = channel.output_gradient + plane * channel.stride;
    float* const dx = channel.input_gradient + plane * channel.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < channel.positions; ++i) dx[i] = factor * (dy[i] - offset - (x[i] - mean) * slope);
  }
  return {scale, shift};
}

/// The library's gradient of a batch norm of dense channels (`ncsp_bnorm`, oneDNN 2.6) takes three times as long as its
/// memory traffic. Frameworks therefore use their own loop (PyTorch: aten/src/ATen/native/Normalization.cpp), and so does
/// this back end.
std::unique_ptr<PreparedKernel> batch_norm_gradient(const Problem& problem) {
  const std::int64_t samples = problem.samples, channels = problem.output.channels;
  const std::int64_t positions = problem.output.positions();
  const std::int64_t items = samples * problem.output.items();
  const NormParameters parameters(problem);
  const bool trained = parameters.items() > 0;
  std::vector<KernelTensor> tensors{{TensorRole::input, 0, items, false},
                                    {TensorRole::kept, 0, channels, false},
                                    {TensorRole::kept, 1, channels, false},
                                    {TensorRole::output_gradient, 0, items, false},
                                    {TensorRole::input_gradient, 0, items, true}};
  if (trained) {
    tensors.push_back({TensorRole::bias, 0, parameters.items(), false});
    tensors.push_back({TensorRole::bias_gradient, 0, parameters.items(), true});
  }
  return loop_kernel(std::move(tensors), [=](std::span<DeviceBuffer* const> buffers) {
    const float* scales = trained ? parameters.scales(floats(buffers[5])) : nullptr;
    float* to_scales = trained ? parameters.scales(floats(buffers[6])) : nullptr;
    float* to_shifts = trained ? parameters.shifts(floats(buffers[6])) : nullptr;
#pragma omp parallel for
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t at = c * positions;
      const ScaleShift sums =
          channel_gradient({floats(buffers[0]) + at, floats(buffers[3]) + at, floats(buffers[4]) + at, samples, positions,
                            channels * positions, floats(buffers[1])[c], std::sqrt(floats(buffers[2])[c] + norm_epsilon),
                            scales == nullptr ? 1.0F : scales[c]});
      if (to_scales != nullptr) to_scales[c] = sums.scale;
      if (to_shifts != nullptr) to_shifts[c] = sums.shift;
    }
  });
}

std::unique_ptr<PreparedKernel> prepare_norm(const Device& device, const Problem& problem) {
  const TensorShape& shape = problem.output;
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::string_view kind = attributes.text("kind");
  if (kind == "rms") return prepare_rms_norm(problem);
  if (kind == "group" || kind == "instance") return prepare_group_norm(problem);
  if (kind == "layer") {
    const memory::desc plain = channels_last(shape, problem.samples, problem.precision);
    return prepare_as<dnnl::layer_normalization_forward, dnnl::layer_normalization_backward>(
        device, problem, plain, dense(dims_of(plain), type_of(plain)));
  }
  if (!shape.sequence && problem.pass == Pass::backward_data && problem.precision == Precision::fp32) {
    return batch_norm_gradient(problem);
  }
  const memory::desc plain = shape.sequence ? tokens_as_image(shape, problem.samples, problem.precision)
                                            : tensor(shape, problem.samples, problem.precision);
  return prepare_as<dnnl::batch_normalization_forward, dnnl::batch_normalization_backward>(device, problem, plain, plain);
}

}  // namespace

const Kind norm{"norm", refusal_norm, prepare_norm};

}  // namespace ddl::onednn
