#pragma once

#include <string>
#include <vector>

#include "estimator/explain/explanation.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A problem that a decision rests on and nobody has measured.
struct UnmeasuredProblem {
  std::string line;
  Seconds time{};  ///< as it is priced, in one iteration of each of the plans together
};

/// Those of these plans, the one with most time first.
[[nodiscard]] std::vector<UnmeasuredProblem> unmeasured_problems(const Estimator& estimator,
                                                                 const std::vector<Estimate>& plans);

}  // namespace ddl
