#include "profiler/backends/cuda/arrangement.hpp"

namespace ddl::cuda {
namespace {

// Positions of a block become channels. The channels of one position are contiguous.
std::unique_ptr<PreparedKernel> prepare_space_to_depth(const Device& device, const Problem& problem) {
  const TensorShape& input = problem.inputs.front();
  const ImageSteps large(device, input);
  const ImageSteps small(device, problem.output);
  std::vector<CopiedDimension> dimensions{{problem.samples, large.sample, small.sample},
                                          {input.channels, large.channel, small.channel}};
  std::int64_t step = input.channels * small.channel;  // stride in the output between neighboring positions of a block
  for (std::size_t d = 3; d-- > 0;) {
    const std::int64_t block = input.extent[d] / problem.output.extent[d];
    dimensions.push_back({problem.output.extent[d], block * large.extent[d], small.extent[d]});
    dimensions.push_back({block, large.extent[d], step});
    step *= block;
  }
  return prepare_arrangement(device, problem, dimensions);
}

}  // namespace

const Kind space_to_depth{"space_to_depth", no_refusal, prepare_space_to_depth};

}  // namespace ddl::cuda
