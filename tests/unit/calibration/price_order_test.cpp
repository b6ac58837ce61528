#include <vector>

#include "calibration/inputs/study.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/step/estimate.hpp"
#include "tests/catch.hpp"

namespace price_order_tests {

namespace {

using namespace ddl;

TEST_CASE("the time of a plan does not depend on the plans predicted before") {
  // Plans that differ only in sharding share the costs of layers. ZeRO-3 has additional launches.
  StudySpec spec;
  spec.model = "resnet50";
  spec.machine = "dgx-a100";
  spec.profiles.files = {"none"};
  const Study study(spec);
  const auto sharded = [&](int stage) {
    Plan plan;
    plan.mesh.set(Axis::data, 16);
    plan.global_batch = 64;
    plan.precision = study.precision();
    plan.optimizer = study.optimizer();
    plan.zero_stage = stage;
    return plan;
  };
  const std::vector<int> stages{0, 1, 2, 3};
  std::vector<double> alone;
  for (const int stage : stages) alone.push_back(Estimator(study.job()).estimate(sharded(stage)).time.step_time().value());
  CHECK(alone[3] > alone[0]);
  const std::vector<std::vector<int>> orders{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 3, 0, 1}};
  for (const std::vector<int>& order : orders) {
    const Estimator estimator(study.job());
    const TimeBounds bounds(estimator);
    for (const int stage : order) {
      INFO("ZeRO-" << stage);
      CHECK(estimator.estimate(sharded(stage)).time.step_time().value() == alone[static_cast<std::size_t>(stage)]);
      CHECK(bounds.least(Closeness::layers, sharded(stage)).value() <= alone[static_cast<std::size_t>(stage)] * (1 + 1e-12));
    }
  }
}

}  // namespace

}  // namespace price_order_tests
