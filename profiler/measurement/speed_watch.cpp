#include "profiler/measurement/speed_watch.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "profiler/measurement/measurement.hpp"
#include "profiler/measurement/tensor_values.hpp"

namespace ddl {

SpeedWatch::SpeedWatch(KernelBackend& backend) : backend_(backend) {
  const Problem problem = parse_problem(backend.speed_problem(), "the speed watch");
  if (const std::string why = backend.refusal(problem); !why.empty()) throw Error(why);
  kernel_ = backend.prepare(problem);
  for (const KernelTensor& tensor : kernel_->tensors()) {
    buffers_.push_back(backend.allocate_for(tensor));
    fill(*buffers_.back(), tensor.role, 0);
    bound_.push_back(buffers_.back().get());
  }
  work_ = TimedWork([this] { kernel_->run(bound_); });
  for (Seconds run{}; run < backend.warm_up();) {
    // At least a microsecond per run is counted, because kernels with a time of zero would never reach the required time.
    run += std::max(backend.time_again(work_), Seconds(1e-6));
  }
}

SpeedWatch::~SpeedWatch() = default;

SpeedLook SpeedWatch::look() {
  constexpr int samples = 5;
  std::vector<double> seconds;
  // The first run brings the tensors into the caches.
  for (int i = 0; i <= samples; ++i) {
    const double time = time_without_host(backend_, work_).value();
    if (i > 0) seconds.push_back(time);
  }
  return {Seconds(median(seconds)), backend_.state()};
}

}  // namespace ddl
