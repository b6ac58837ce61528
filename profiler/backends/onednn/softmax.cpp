#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::string refusal_softmax(const Problem& /*problem*/) { return {}; }

std::unique_ptr<PreparedKernel> prepare_softmax(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t items = rows * problem.output.channels;
  // Channels are innermost, except in images.
  const bool image = !problem.output.sequence && problem.output.rank > 0;
  const dnnl::memory::desc data = image ? tensor(problem.output, problem.samples, problem.precision)
                                        : dense({rows, problem.output.channels}, data_type(problem.precision));
  const dnnl::primitive_attr scratch = own_scratchpad();
  const dnnl::softmax_forward::primitive_desc forward = describe_softmax(device, scratch, data, 1);
  if (problem.pass == Pass::forward) {
    return primitive_kernel(device, dnnl::softmax_forward(forward), forward.scratchpad_desc(), forward.impl_info_str(),
                            {{{TensorRole::input, 0, items, false}, DNNL_ARG_SRC, data, data},
                             {{TensorRole::output, 0, items, true}, DNNL_ARG_DST, data, data}});
  }
  const dnnl::softmax_backward::primitive_desc backward = describe_softmax_backward(device, scratch, forward, data, 1);
  return primitive_kernel(device, dnnl::softmax_backward(backward), backward.scratchpad_desc(), backward.impl_info_str(),
                          {{{TensorRole::output, 0, items, false}, DNNL_ARG_DST, data, data},
                           {{TensorRole::output_gradient, 0, items, false}, DNNL_ARG_DIFF_DST, data, data},
                           {{TensorRole::input_gradient, 0, items, true}, DNNL_ARG_DIFF_SRC, data, data}});
}

}  // namespace

const Kind softmax{"softmax", refusal_softmax, prepare_softmax};

}  // namespace ddl::onednn
