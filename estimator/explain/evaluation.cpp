#include "estimator/explain/evaluation.hpp"

namespace ddl {

Seconds forward_only_time(const Breakdown& time) {
  const Seconds kernels = time[Part::forward] + time[Part::backward];
  if (kernels <= Seconds{}) return {};
  const Seconds passes = time.step_time() - time[Part::weight_update] - time[Part::gradient_exchange];
  return passes * (time[Part::forward] / kernels);
}

}  // namespace ddl
