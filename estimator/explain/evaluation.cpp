#include "estimator/explain/evaluation.hpp"

namespace ddl {

Seconds forward_only_time(const Estimate& estimate) {
  const Breakdown& time = estimate.time;
  const Seconds kernels = time[Part::forward] + time[Part::backward];
  if (kernels <= Seconds{}) return {};
  const Seconds passes =
      time.step_time() - time[Part::weight_update] - time[Part::gradient_exchange] - estimate.host_waiting;
  return passes * (time[Part::forward] / kernels) + estimate.forward_host_waiting;
}

}  // namespace ddl
