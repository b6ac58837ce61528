#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::unique_ptr<PreparedKernel> prepare_channel_shuffle(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const dnnl::memory::desc data = tensor(problem.output, problem.samples, problem.precision);
  const int axis = problem.output.sequence ? 2 : 1;
  // The library expects the number of channels of a group.
  const auto group = static_cast<int>(problem.output.channels / problem.operation->attribute_values().integer("groups", 1));
  const std::int64_t items = problem.samples * problem.output.items();
  const dnnl::primitive_attr scratch = own_scratchpad();
  const dnnl::shuffle_forward::primitive_desc forward = describe_shuffle(device, scratch, data, axis, group);
  if (problem.pass == Pass::forward) {
    return primitive_kernel(device, dnnl::shuffle_forward(forward), forward.scratchpad_desc(), forward.impl_info_str(),
                            {{{TensorRole::input, 0, items, false}, DNNL_ARG_SRC, data, data},
                             {{TensorRole::output, 0, items, true}, DNNL_ARG_DST, data, data}});
  }
  const dnnl::shuffle_backward::primitive_desc backward =
      describe_shuffle_backward(device, scratch, forward, data, axis, group);
  return primitive_kernel(device, dnnl::shuffle_backward(backward), backward.scratchpad_desc(), backward.impl_info_str(),
                          {{{TensorRole::output_gradient, 0, items, false}, DNNL_ARG_DIFF_DST, data, data},
                           {{TensorRole::input_gradient, 0, items, true}, DNNL_ARG_DIFF_SRC, data, data}});
}

std::string refusal_channel_shuffle(const Problem& /*problem*/) { return {}; }

}  // namespace

const Kind channel_shuffle{"channel_shuffle", refusal_channel_shuffle, prepare_channel_shuffle};

}  // namespace ddl::onednn
