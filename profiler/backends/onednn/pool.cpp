#include "profiler/backends/onednn/adaptive_pool.hpp"
#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/window_geometry.hpp"

namespace ddl::onednn {
namespace {

using dnnl::memory;

/// Whether all windows have the same size. A pooling to a given size has equal windows if the output size divides the input
/// size.
bool has_window(const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  if (!attributes.has("adaptive")) return true;
  const TensorShape& input = problem.inputs.front();
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    if (input.extent[d] % problem.output.extent[d] != 0) return false;
  }
  return true;
}

std::string refusal_pool(const Problem& problem) { return has_window(problem) ? std::string() : only_fp32(problem); }

/// The tensor in the library's order (samples, channels, extents), for any order in memory.
memory::desc pooled(const TensorShape& shape, std::int64_t samples, Precision precision) {
  if (!shape.sequence) return tensor(shape, samples, precision);
  return {{samples, shape.channels, shape.extent[0]}, data_type(precision), {shape.items(), 1, shape.channels}};
}

std::unique_ptr<PreparedKernel> prepare_pool(const Device& device, const Problem& problem) {
  if (!has_window(problem)) return prepare_adaptive_pool(problem);
  const TensorShape& input = problem.inputs.front();
  const AttributeValues attributes = problem.operation->attribute_values();
  memory::dims kernel, stride, before, after;
  const WindowGeometry window = window_geometry(*problem.operation, input, problem.output);
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    const std::int64_t share = input.extent[d] / problem.output.extent[d];
    const bool adaptive = attributes.has("adaptive");
    kernel.push_back(adaptive ? share : window.kernel[d]);
    stride.push_back(adaptive ? share : window.stride[d]);
    before.push_back(adaptive ? 0 : window.before[d]);
    after.push_back(adaptive ? 0 : window.after[d]);
  }
  const bool is_max = attributes.text("kind") == "max";
  // In frameworks, an average includes explicit padding by default, but not `same` padding.
  const auto algorithm = is_max ? dnnl::algorithm::pooling_max
                                : (attributes.text("padding") == "same" ? dnnl::algorithm::pooling_avg_exclude_padding
                                                                        : dnnl::algorithm::pooling_avg_include_padding);
  const memory::desc source = pooled(input, problem.samples, problem.precision);
  const memory::desc destination = pooled(problem.output, problem.samples, problem.precision);
  const dnnl::primitive_attr scratch = own_scratchpad();
  const Pooling pooling{algorithm, source, destination, stride, kernel, before, after};
  const dnnl::pooling_forward::primitive_desc forward = describe_pool(device, scratch, pooling);
  const std::int64_t in = problem.samples * input.items();
  const std::int64_t out = problem.samples * problem.output.items();
  const memory::desc winners = forward.workspace_desc();
  const auto kept = [&](bool written) {
    const auto words = static_cast<std::int64_t>((winners.get_size() + 3) / 4);
    return Argument{{TensorRole::kept, 0, words, written}, DNNL_ARG_WORKSPACE, winners, winners};
  };
  std::vector<Argument> arguments;
  if (problem.pass == Pass::forward) {
    arguments = {{{TensorRole::input, 0, in, false}, DNNL_ARG_SRC, source, source},
                 {{TensorRole::output, 0, out, true}, DNNL_ARG_DST, destination, destination}};
    if (winners.get_size() > 0) arguments.push_back(kept(true));
    return primitive_kernel(device, dnnl::pooling_forward(forward), forward.scratchpad_desc(), forward.impl_info_str(),
                            arguments);
  }
  if (problem.pass != Pass::backward_data) return empty_kernel();
  const dnnl::pooling_backward::primitive_desc backward = describe_pool_backward(device, scratch, forward, pooling);
  arguments = {{{TensorRole::output_gradient, 0, out, false}, DNNL_ARG_DIFF_DST, destination, destination},
               {{TensorRole::input_gradient, 0, in, true}, DNNL_ARG_DIFF_SRC, source, source}};
  if (winners.get_size() > 0) arguments.push_back(kept(false));
  return primitive_kernel(device, dnnl::pooling_backward(backward), backward.scratchpad_desc(), backward.impl_info_str(),
                          arguments);
}

}  // namespace

const Kind pool{"pool", refusal_pool, prepare_pool};

}  // namespace ddl::onednn
