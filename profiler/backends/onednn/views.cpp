// Views run no kernel, because their output uses the memory of their input.

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::string refusal_views(const Problem& /*problem*/) { return {}; }
std::unique_ptr<PreparedKernel> prepare_views(const Device& /*device*/, const Problem& /*problem*/) {
  return empty_kernel();
}

}  // namespace

const Kind flatten{"flatten", refusal_views, prepare_views};
const Kind identity{"identity", refusal_views, prepare_views};
const Kind reshape{"reshape", refusal_views, prepare_views};

}  // namespace ddl::onednn
