#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

using dnnl::memory;

// Space to depth is a copy between two orders of the same dimensions: samples, channels, and for each extent the block and
// the position inside the block. The channels of a position are contiguous in the output, as in patch merging.
std::unique_ptr<PreparedKernel> prepare_space_to_depth(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const TensorShape& input = problem.inputs.front();
  const TensorShape& output = problem.output;
  memory::dims dims{problem.samples, input.channels};
  memory::dims apart{input.items(), input.positions()};
  memory::dims together{output.items(), output.positions()};
  std::int64_t inner = input.positions();   // stride in the input of one step along the extent
  std::int64_t outer = output.positions();  // stride in the output of one step along the extent
  std::int64_t place = output.items();      // stride in the output of one step inside the block
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    const std::int64_t block = input.extent[d] / output.extent[d];
    inner /= input.extent[d];
    outer /= output.extent[d];
    place /= block;
    dims.insert(dims.end(), {output.extent[d], block});
    apart.insert(apart.end(), {block * inner, inner});
    together.insert(together.end(), {outer, place});
  }
  const memory::data_type type = data_type(problem.precision);
  const memory::desc source(dims, type, apart);
  const memory::desc destination(dims, type, together);
  const bool forward = problem.pass == Pass::forward;
  const memory::desc& from = forward ? source : destination;
  const memory::desc& to = forward ? destination : source;
  const dnnl::reorder::primitive_desc description(device.engine, from, device.engine, to, own_scratchpad());
  const std::int64_t items = problem.samples * output.items();
  return primitive_kernel(
      device, dnnl::reorder(description), description.scratchpad_desc(), description.impl_info_str(),
      {{{forward ? TensorRole::input : TensorRole::output_gradient, 0, items, false}, DNNL_ARG_FROM, from, from},
       {{forward ? TensorRole::output : TensorRole::input_gradient, 0, items, true}, DNNL_ARG_TO, to, to}});
}

std::string refusal_space_to_depth(const Problem& /*problem*/) { return {}; }

}  // namespace

const Kind space_to_depth{"space_to_depth", refusal_space_to_depth, prepare_space_to_depth};

}  // namespace ddl::onednn
