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

std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  const TensorShape& shape = problem.output;
  if (AttributeText(*problem.operation).text("kind") == "batch") {
    return prepare_as<dnnl::batch_normalization_forward, dnnl::batch_normalization_backward>(
        device, problem, tensor(shape, problem.samples, problem.precision));
  }
  return prepare_as<dnnl::layer_normalization_forward, dnnl::layer_normalization_backward>(
      device, problem, channels_last(shape, problem.samples, problem.precision));
}

}  // namespace

const Kind norm{"norm", refusal, prepare};

}  // namespace ddl::onednn
