// Tests errors of weak scaling, for runs with given efficiencies.

#include "calibration/runs/scaling_errors.hpp"

#include <vector>

#include "tests/catch.hpp"

namespace scaling_errors_tests {

using namespace ddl;

namespace {

ValidationCase one(int gpus, double global_batch, double measured, double predicted) {
  ValidationCase of;
  of.run.set = "of-mine";
  of.run.model = "resnet50";
  of.run.strategy = "data";
  of.run.gpus = gpus;
  of.run.global_batch = global_batch;
  of.run.quantity = "iter_total_s";
  of.run.value = measured;
  of.predicted = Seconds(predicted);
  return of;
}

}  // namespace

TEST_CASE("a scaling error is the error of the efficiency relative to the same run on fewer devices") {
  // The measured speeds are 0.8 and 0.5 of the speed of one device. The predicted speeds are 1 and 0.4.
  const std::vector<ValidationCase> cases{one(1, 32, 0.1, 0.05), one(8, 256, 0.125, 0.05), one(64, 2048, 0.2, 0.125)};
  const ScalingSummary summary = scaling_errors(cases, "set");
  CHECK(summary.overall.runs == 2);
  CHECK(summary.overall.mean_absolute == Approx((0.25 + 0.2) / 2));
  REQUIRE(summary.groups.size() == 1);
  CHECK(summary.groups.at("of-mine").runs == 2);
}

TEST_CASE("several runs on the fewest devices are averaged") {
  const std::vector<ValidationCase> cases{one(2, 64, 0.09, 0.1), one(2, 64, 0.11, 0.1), one(4, 128, 0.1, 0.11)};
  CHECK(scaling_errors(cases, "set").overall.mean_absolute == Approx(1 - 1 / 1.1));
}

TEST_CASE("runs that differ in more than their devices have no scaling efficiency") {
  const ValidationCase base = one(1, 32, 0.1, 0.1);
  const auto runs_compared_with = [&](const ValidationCase& other) {
    return scaling_errors(std::vector<ValidationCase>{base, other}, "set").overall.runs;
  };
  CHECK(runs_compared_with(one(8, 256, 0.1, 0.1)) == 1);
  CHECK(runs_compared_with(one(8, 128, 0.1, 0.1)) == 0);
  ValidationCase other = one(8, 256, 0.1, 0.1);
  other.run.precision = Precision::fp16;
  CHECK(runs_compared_with(other) == 0);
  other = one(8, 256, 0.1, 0.1);
  other.run.strategy = "pipeline";
  CHECK(runs_compared_with(other) == 0);
  other = one(8, 256, 0.1, 0.1);
  other.predicted.reset();
  CHECK(runs_compared_with(other) == 0);
}

}  // namespace scaling_errors_tests
