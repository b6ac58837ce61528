#include "profiler/speed_watch.hpp"

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "profiler/tensor_values.hpp"

namespace ddl {

SpeedWatch::SpeedWatch(KernelBackend& backend) : backend_(backend) {
  const Problem problem = parse_problem("fully_connected features=512 bias=no in=512 samples=64", "the speed watch");
  if (const std::string why = backend.refusal(problem); !why.empty()) throw Error(why);
  kernel_ = backend.prepare(problem);
  for (const KernelTensor& tensor : kernel_->tensors()) {
    buffers_.push_back(backend.allocate_for(tensor));
    fill(*buffers_.back(), tensor.role, 0);
    bound_.push_back(buffers_.back().get());
  }
}

SpeedWatch::~SpeedWatch() = default;

Seconds SpeedWatch::look() {
  constexpr int samples = 5;
  std::vector<double> seconds;
  // The first brings the tensors into the caches.
  for (int i = 0; i <= samples; ++i) {
    const double time = backend_.time([this] { kernel_->run(bound_); }).value();
    if (i > 0) seconds.push_back(time);
  }
  return Seconds(median(seconds));
}

}  // namespace ddl
