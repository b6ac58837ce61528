#include "profiler/backends/cuda/arrangement.hpp"

namespace ddl::cuda {
namespace {

// Frameworks implement forward as a view, so predictions never use the time of forward. If forward
// is run anyway, it writes the dense tensor that other kernels read.
std::unique_ptr<PreparedKernel> prepare_crop(const Device& device, const Problem& problem) {
  const TensorShape& input = problem.inputs.front();
  const ImageSteps whole(device, input);
  const ImageSteps middle(device, problem.output);
  std::vector<CopiedDimension> dimensions{{problem.samples, whole.sample, middle.sample},
                                          {input.channels, whole.channel, middle.channel}};
  std::int64_t start = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    dimensions.push_back({problem.output.extent[d], whole.extent[d], middle.extent[d]});
    start += (input.extent[d] - problem.output.extent[d]) / 2 * whole.extent[d];
  }
  return prepare_arrangement(device, problem, dimensions, start);
}

}  // namespace

const Kind crop{"crop", no_refusal, prepare_crop};

}  // namespace ddl::cuda
