#pragma once

#include <string>
#include <vector>

#include "estimator/explain/explanation.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A problem that a decision depends on, but that was not measured.
struct UnmeasuredProblem {
  std::string line;
  Seconds time{};  ///< predicted time in one step of each of the plans, summed over the plans
};

/// The unmeasured problems of these plans, in order of decreasing time.
[[nodiscard]] std::vector<UnmeasuredProblem> unmeasured_problems(const Estimator& estimator,
                                                                 const std::vector<Estimate>& plans);

}  // namespace ddl
