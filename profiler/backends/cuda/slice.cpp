#include "profiler/backends/cuda/arrangement.hpp"

namespace ddl::cuda {
namespace {

// Frameworks implement forward as a view, so predictions never use the time of forward. If forward
// is run anyway, it writes the dense tensor that other kernels read.
std::unique_ptr<PreparedKernel> prepare_slice(const Device& device, const Problem& problem) {
  const ImageSteps whole(device, problem.inputs.front());
  const ImageSteps part(device, problem.output);
  std::vector<CopiedDimension> dimensions{{problem.samples, whole.sample, part.sample},
                                          {problem.output.channels, whole.channel, part.channel}};
  for (std::size_t d = 0; d < 3; ++d) dimensions.push_back({problem.output.extent[d], whole.extent[d], part.extent[d]});
  return prepare_arrangement(device, problem, dimensions,
                             problem.operation->attribute_values().integer("first", 0) * whole.channel);
}

}  // namespace

const Kind slice{"slice", no_refusal, prepare_slice};

}  // namespace ddl::cuda
