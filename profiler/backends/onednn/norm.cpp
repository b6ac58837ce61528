#include <cmath>

#include "profiler/attribute_text.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

using dnnl::memory;
using dnnl::normalization_flags;

constexpr float epsilon = 1e-5F;

std::string refusal(const Problem& problem) {
  const AttributeText attributes(*problem.operation);
  const std::string_view kind = attributes.text("kind");
  if (kind != "batch" && kind != "layer")
    return "norms over groups, instances or root mean squares are not in this back end";
  if (!attributes.flag("bias", true) || !attributes.flag("scale", true)) {
    return "norms without a scale or a shift are not in this back end";
  }
  if (kind == "batch" && problem.inputs.front().sequence) return "batch norm of tokens is not in this back end";
  return {};
}

/// The tensor with its channels innermost, which is what a layer norm sums over.
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

template <class Forward, class Backward>
std::unique_ptr<PreparedKernel> prepare_as(const Device& device, const Problem& problem, const memory::desc& plain) {
  const memory::desc inner = dense(plain.dims(), plain.data_type());
  const dnnl::primitive_attr scratch = own_scratchpad();
  constexpr auto flags = normalization_flags::use_scale_shift;
  const typename Forward::primitive_desc forward({dnnl::prop_kind::forward_training, inner, epsilon, flags}, scratch,
                                                 device.engine);
  const std::int64_t items = problem.samples * problem.output.items();
  const std::int64_t channels = problem.output.channels;
  const memory::desc mean = forward.mean_desc();
  const memory::desc variance = forward.variance_desc();
  const auto count = [](const memory::desc& desc) { return static_cast<std::int64_t>(desc.get_size() / sizeof(float)); };
  const memory::desc trained = forward.weights_desc();
  // The scale and the shift, one behind the other.
  const Argument scale_shift{{TensorRole::bias, 0, 2 * channels, false}, DNNL_ARG_SCALE_SHIFT, trained, trained};
  const auto statistic = [&](int index, bool written) {
    const memory::desc& desc = index == 0 ? mean : variance;
    return Argument{
        {TensorRole::kept, index, count(desc), written}, index == 0 ? DNNL_ARG_MEAN : DNNL_ARG_VARIANCE, desc, desc};
  };
  if (problem.pass == Pass::forward) {
    return primitive_kernel(device, Forward(forward), forward.scratchpad_desc(), forward.impl_info_str(),
                            {{{TensorRole::input, 0, items, false}, DNNL_ARG_SRC, plain, inner},
                             scale_shift,
                             statistic(0, true),
                             statistic(1, true),
                             {{TensorRole::output, 0, items, true}, DNNL_ARG_DST, plain, inner}});
  }
  // The gradients of scale and shift come out of the same sums: backward-weight has nothing left to do.
  if (problem.pass != Pass::backward_data) return empty_kernel();
  const typename Backward::primitive_desc backward({dnnl::prop_kind::backward, inner, inner, epsilon, flags}, scratch,
                                                   device.engine, forward);
  return primitive_kernel(
      device, Backward(backward), backward.scratchpad_desc(), backward.impl_info_str(),
      {{{TensorRole::input, 0, items, false}, DNNL_ARG_SRC, plain, inner},
       scale_shift,
       statistic(0, false),
       statistic(1, false),
       {{TensorRole::output_gradient, 0, items, false}, DNNL_ARG_DIFF_DST, plain, inner},
       {{TensorRole::input_gradient, 0, items, true}, DNNL_ARG_DIFF_SRC, plain, inner},
       {{TensorRole::bias_gradient, 0, 2 * channels, true}, DNNL_ARG_DIFF_SCALE_SHIFT, trained, trained}});
}

/// One channel of a batch norm's gradient; its planes lie `stride` items apart.
struct Channel {
  const float *source, *output_gradient;
  float* input_gradient;
  std::int64_t planes, positions, stride;
  float mean, deviation, scale;  ///< deviation: of the items, with epsilon under the root
};
struct ScaleShift {
  float scale, shift;
};

/// With s = Σ dy·x̂ and t = Σ dy over the n items of the channel: dx = scale/deviation · (dy − t/n − x̂·s/n) [Ioffe and
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

/// The library's own gradient of a batch norm of dense channels (`ncsp_bnorm`, oneDNN 2.6) takes three times as long as its
/// memory traffic would. Frameworks bring a loop of their own (PyTorch: aten/src/ATen/native/Normalization.cpp), and so
/// does this.
std::unique_ptr<PreparedKernel> batch_norm_gradient(const Problem& problem) {
  const std::int64_t samples = problem.samples, channels = problem.output.channels;
  const std::int64_t positions = problem.output.positions();
  const std::int64_t items = samples * problem.output.items();
  return loop_kernel({{TensorRole::input, 0, items, false},
                      {TensorRole::bias, 0, 2 * channels, false},
                      {TensorRole::kept, 0, channels, false},
                      {TensorRole::kept, 1, channels, false},
                      {TensorRole::output_gradient, 0, items, false},
                      {TensorRole::input_gradient, 0, items, true},
                      {TensorRole::bias_gradient, 0, 2 * channels, true}},
                     [=](std::span<DeviceBuffer* const> buffers) {
#pragma omp parallel for
                       for (std::int64_t c = 0; c < channels; ++c) {
                         const std::int64_t at = c * positions;
                         const ScaleShift sums =
                             channel_gradient({floats(buffers[0]) + at, floats(buffers[4]) + at, floats(buffers[5]) + at,
                                               samples, positions, channels * positions, floats(buffers[2])[c],
                                               std::sqrt(floats(buffers[3])[c] + epsilon), floats(buffers[1])[c]});
                         floats(buffers[6])[c] = sums.scale;
                         floats(buffers[6])[channels + c] = sums.shift;
                       }
                     });
}

std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  const TensorShape& shape = problem.output;
  if (AttributeText(*problem.operation).text("kind") == "batch") {
    if (problem.pass == Pass::backward_data && problem.precision == Precision::fp32) return batch_norm_gradient(problem);
    return prepare_as<dnnl::batch_normalization_forward, dnnl::batch_normalization_backward>(
        device, problem, tensor(shape, problem.samples, problem.precision));
  }
  return prepare_as<dnnl::layer_normalization_forward, dnnl::layer_normalization_backward>(
      device, problem, channels_last(shape, problem.samples, problem.precision));
}

}  // namespace

const Kind norm{"norm", refusal, prepare};

}  // namespace ddl::onednn
