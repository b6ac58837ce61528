#pragma once

#include "estimator/step/estimate.hpp"

namespace ddl {

/// Returns a plan of 16 devices with these times in seconds and this memory in GiB. A device has 16 GiB.
inline Estimate estimate_of(double compute, double gradients, double activations_gib) {
  Estimate estimate;
  estimate.plan.mesh.set(Axis::data, 16);
  estimate.plan.global_batch = 64;
  estimate.time[Part::forward] = Seconds(compute / 2);
  estimate.time[Part::backward] = Seconds(compute / 2);
  estimate.time[Part::gradient_exchange] = Seconds(gradients);
  estimate.epoch = estimate.time.step_time() * 100.0;
  estimate.memory.weights = 1_GiB;
  estimate.memory.activations = Bytes(activations_gib * 0x1p30);
  if (estimate.memory.total() > 16_GiB)
    estimate.limits.add({Limit::Kind::memory, estimate.memory.total().value(), (16_GiB).value()});
  return estimate;
}

inline Estimate impossible() {
  Estimate estimate;
  estimate.plan.mesh.set(Axis::data, 16);
  estimate.plan.global_batch = 8;
  estimate.limits.add({Limit::Kind::batch, 16, 8});
  return estimate;
}

}  // namespace ddl
