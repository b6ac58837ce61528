#pragma once

#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// Kernels that were timed together, for all samples of a batch. Usually there is only one.
struct KernelSample {
  std::vector<std::pair<Work, Pass>> kernels;
  Precision precision = Precision::fp32;
  Seconds time{};
};

}  // namespace ddl
