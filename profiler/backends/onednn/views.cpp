// Other names for the same memory: nothing runs.

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::string refusal(const Problem& /*problem*/) { return {}; }
std::unique_ptr<PreparedKernel> prepare(const Device& /*device*/, const Problem& /*problem*/) { return empty_kernel(); }

}  // namespace

const Kind flatten{"flatten", refusal, prepare};
const Kind identity{"identity", refusal, prepare};
const Kind reshape{"reshape", refusal, prepare};

}  // namespace ddl::onednn
