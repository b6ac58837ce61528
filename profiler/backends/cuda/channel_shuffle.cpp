#include "profiler/backends/cuda/arrangement.hpp"

namespace ddl::cuda {
namespace {

// A channel shuffle distributes the channels of each group round-robin over all groups.
std::unique_ptr<PreparedKernel> prepare_channel_shuffle(const Device& device, const Problem& problem) {
  const ImageSteps image(device, problem.output);
  const std::int64_t groups = problem.operation->attribute_values().integer("groups", 1);
  const std::int64_t members = problem.output.channels / groups;
  std::vector<CopiedDimension> dimensions{{problem.samples, image.sample, image.sample},
                                          {members, image.channel, groups * image.channel},
                                          {groups, members * image.channel, image.channel}};
  for (std::size_t d = 0; d < 3; ++d) dimensions.push_back({problem.output.extent[d], image.extent[d], image.extent[d]});
  return prepare_arrangement(device, problem, dimensions);
}

}  // namespace

const Kind channel_shuffle{"channel_shuffle", no_refusal, prepare_channel_shuffle};

}  // namespace ddl::cuda
