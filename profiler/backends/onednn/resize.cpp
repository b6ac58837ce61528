#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::unique_ptr<PreparedKernel> prepare_resize(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const dnnl::memory::desc source = tensor(problem.inputs.front(), problem.samples, problem.precision);
  const dnnl::memory::desc destination = tensor(problem.output, problem.samples, problem.precision);
  const std::int64_t in = problem.samples * problem.inputs.front().items();
  const std::int64_t out = problem.samples * problem.output.items();
  const auto kind = problem.operation->attribute_values().text("kind") == "linear" ? dnnl::algorithm::resampling_linear
                                                                                   : dnnl::algorithm::resampling_nearest;
  const dnnl::primitive_attr scratch = own_scratchpad();
  const auto forward =
      describe<dnnl::resampling_forward>(device, scratch, dnnl::prop_kind::forward_training, kind, source, destination);
  if (problem.pass == Pass::forward) {
    return primitive_kernel(device, dnnl::resampling_forward(forward), forward.scratchpad_desc(), forward.impl_info_str(),
                            {{{TensorRole::input, 0, in, false}, DNNL_ARG_SRC, source, source},
                             {{TensorRole::output, 0, out, true}, DNNL_ARG_DST, destination, destination}});
  }
  const auto backward = describe_backward<dnnl::resampling_backward>(device, scratch, forward, kind, source, destination);
  return primitive_kernel(device, dnnl::resampling_backward(backward), backward.scratchpad_desc(), backward.impl_info_str(),
                          {{{TensorRole::output_gradient, 0, out, false}, DNNL_ARG_DIFF_DST, destination, destination},
                           {{TensorRole::input_gradient, 0, in, true}, DNNL_ARG_DIFF_SRC, source, source}});
}

std::string refusal_resize(const Problem& /*problem*/) { return {}; }

}  // namespace

const Kind resize{"resize", refusal_resize, prepare_resize};

}  // namespace ddl::onednn
