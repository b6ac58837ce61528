// Tests how a step's time depends on its inputs, and the interval of the time.

#include <cmath>

#include "calibration/runs/time_errors_file.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/step/step_sensitivity.hpp"
#include "tests/catch.hpp"
#include "tests/property/random_plans.hpp"

namespace interval_tests {

using namespace ddl;

TEST_CASE("the interval of any plan contains its prediction, and its sensitivities are parts of the time") {
  int plans = 0;
  for_random_plans(401, 300, [&](const OwnedJob& owned, const Plan& plan) {
    const Estimator estimator(owned.job);
    Estimate estimate = estimator.estimate(plan);
    if (estimate.time.step_time().value() <= 0) return;
    INFO(owned.model.name << ": " << text_of(plan));
    add_intervals(estimator, estimate, bundled_time_errors());
    REQUIRE(estimate.interval.has_value());
    REQUIRE(estimate.interval->low <= 1);
    REQUIRE(estimate.interval->low > 0);
    REQUIRE(estimate.interval->high >= 1);
    REQUIRE(std::isfinite(estimate.interval->high));
    double slower = 0;
    for (const Sensitivity& each : estimate.sensitivity->sources) {
      REQUIRE(each.slower >= 0);
      REQUIRE(each.slower <= 1.000001);
      REQUIRE(each.faster >= 0);
      REQUIRE(each.faster <= 1.000001);
      if (each.source != ErrorSource::rare_splits) slower += each.slower;
    }
    // If all times are longer by a factor, so is the step. Hidden time counts at most twice.
    REQUIRE(slower > 0.3);
    REQUIRE(slower < 2.5);
    ++plans;
  });
  CHECK(plans > 100);
}

}  // namespace interval_tests
