#pragma once

#include <string>
#include <vector>

#include "estimator/explain/explanation.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A kernel problem that was not measured, although a decision depends on the problem's time.
struct UnmeasuredProblem {
  std::string line;
  Seconds time{};  ///< predicted time of the problem per step, summed over the plans
};

/// Returns the unmeasured problems of these plans, in order of decreasing time.
[[nodiscard]] std::vector<UnmeasuredProblem> unmeasured_problems(const Estimator& estimator,
                                                                 const std::vector<Estimate>& plans);

}  // namespace ddl
