#include "estimator/explain/evaluation.hpp"

#include <string>

#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace evaluation_tests {

using namespace ddl;

TEST_CASE("an evaluation runs the forward passes of a step, without update and exchange of gradients") {
  Estimate estimate;
  CHECK(forward_only_time(estimate) == Seconds{});
  Breakdown& time = estimate.time;
  time[Part::forward] = Seconds(2);
  time[Part::backward] = Seconds(4);
  time[Part::weight_update] = time[Part::gradient_exchange] = Seconds(1);
  time[Part::waiting] = Seconds(3);
  // A third of the 6 s of kernels is forward, and so is a third of the 3 s of waiting.
  CHECK(forward_only_time(estimate).value() == Approx(3));
  // 2 s of waiting for the host are not distributed by kernels: 1.5 s are in forward. A third of 7 s and 1.5 s remain.
  estimate.host_waiting = Seconds(2);
  estimate.forward_host_waiting = Seconds(1.5);
  CHECK(forward_only_time(estimate).value() == Approx(7.0 / 3 + 1.5));
}

TEST_CASE("an evaluation waits for the host as long as forward alone") {
  Coefficients coefficients;
  coefficients.software.launch_overhead = Seconds(0.1);
  coefficients.software.backward_launches = 0.43;
  coefficients.software.step_overhead = Seconds(0.5);
  Plan plan;
  plan.global_batch = 8;
  plan.micro_batches = 2;
  plan.precision = Precision::bf16;
  plan.optimizer = Optimizer::adam;
  const auto estimate = [&](const std::string& trained) {
    const OwnedJob owned(load_model("gpt2@layers=2@hidden=64@heads=4@vocabulary=1000@tokens=32" + trained), nodes_of_four(),
                         Assumptions{}, 1000, std::nullopt, plan.precision, plan.optimizer, coefficients);
    return Estimator(owned.job).estimate(plan);
  };
  const Estimate trained = estimate(""), frozen = estimate("@trained=none");
  REQUIRE(frozen.time[Part::backward] == Seconds{});
  REQUIRE(trained.host_waiting > trained.forward_host_waiting);
  CHECK(trained.forward_host_waiting.value() == Approx(frozen.host_waiting.value()));
  CHECK(forward_only_time(trained).value() == Approx(frozen.time.step_time().value()));
}

}  // namespace evaluation_tests
