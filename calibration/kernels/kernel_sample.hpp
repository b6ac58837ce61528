#pragma once

#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/kernels/device_kernels.hpp"
#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// Kernels that were timed together, for all samples of a batch. Usually there is only one.
struct KernelSample {
  std::vector<std::pair<Work, Pass>> kernels;
  Precision precision = Precision::fp32;
  Conditions conditions = Conditions::alone;
  Seconds time{};
};

}  // namespace ddl
