#pragma once

#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/kernels/device_kernels.hpp"
#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// One kernel, or several kernels that were timed together, for all samples of a batch.
struct KernelSample {
  std::vector<std::pair<Work, Pass>> kernels;
  Precision precision = Precision::fp32;
  Conditions conditions = Conditions::alone;
  Seconds time{};
};

}  // namespace ddl
