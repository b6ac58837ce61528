#include "estimator/explain/power.hpp"

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace power_tests {

using namespace ddl;

namespace {

Model two_layers() {
  return parse_model(
      "format: 1\nmodel: m\ninput: {features: 100}\nlayers:\n  - fully_connected: {features: 100}\n  - activation: relu\n",
      "m.yaml");
}

Machine with_power(double device, std::optional<double> host) {
  Machine machine = nodes_of_four();
  machine.device.power = device;
  machine.host = HostPath{.bandwidth = Bandwidth(1e9), .power = host};
  return machine;
}

/// A step of 10 s: 6 s of the product, 2 s of the ReLU, 1 s of exposed gradient exchange and 1 s of waiting.
Explanation explained() {
  Explanation explanation;
  explanation.phases.emplace_back();
  explanation.layers.resize(2);
  explanation.layers[0].time[Part::forward] = Seconds(2);
  explanation.layers[0].time[Part::backward] = Seconds(4);
  explanation.layers[1].layer = 1;
  explanation.layers[1].time[Part::backward] = Seconds(2);
  Breakdown& time = explanation.estimate.time;
  time[Part::forward] = Seconds(2);
  time[Part::backward] = Seconds(6);
  time[Part::gradient_exchange] = time[Part::waiting] = Seconds(1);
  explanation.estimate.plan.mesh.set(Axis::data, 8);
  return explanation;
}

}  // namespace

TEST_CASE("the power of a device is the mean over its activities") {
  const OwnedJob owned(two_layers(), with_power(400, 1000), Assumptions{}, 1000);
  const auto power = power_of(owned.job, explained());
  REQUIRE(power);
  CHECK(power->product_share == Approx(0.75));
  // 0.6 of the time at 1, 0.2 at 0.5, 0.1 at 0.5 and 0.1 at 0.2 of 400 W: 400 · 0.77.
  CHECK(power->device == Approx(308));
  CHECK(*power->node == Approx(1000 + 4 * 308));
}

TEST_CASE("devices of a node that a plan does not use wait") {
  const OwnedJob owned(two_layers(), with_power(400, 1000), Assumptions{}, 1000);
  Explanation explanation = explained();
  explanation.estimate.plan.mesh.set(Axis::data, 1);
  const auto power = power_of(owned.job, explanation);
  CHECK(*power->node == Approx(1000 + 308 + 3 * 0.2 * 400));
  // Six devices are on two nodes of four: three of each node are used.
  explanation.estimate.plan.mesh.set(Axis::data, 6);
  CHECK(*power_of(owned.job, explanation)->node == Approx(1000 + 3 * 308 + 0.2 * 400));
}

TEST_CASE("devices of shorter stages wait") {
  const OwnedJob owned(two_layers(), with_power(400, std::nullopt), Assumptions{}, 1000);
  Explanation explanation = explained();
  explanation.estimate.imbalance = 1;
  // Kernels take 0.4 of the time on average, at 0.875 of 400 W; 0.1 at 0.5, and the other half at 0.2.
  const auto power = power_of(owned.job, explanation);
  CHECK(power->device == Approx(400 * (0.4 * 0.875 + 0.1 * 0.5 + 0.5 * 0.2)));
  CHECK_FALSE(power->node);
}

TEST_CASE("energy is that of whole nodes, times the PUE") {
  Assumptions assumptions;
  assumptions.overhead_power = 1.5;
  const OwnedJob owned(two_layers(), with_power(400, 1000), assumptions, 1000);
  Estimate estimate = explained().estimate;
  CHECK(energy_of(owned.job, estimate, Seconds(10)) == 0);
  estimate.power = Power{.device = 308, .node = 2232};
  CHECK(energy_of(owned.job, estimate, Seconds(10)) == Approx(2 * 2232 * 10 * 1.5));
  estimate.power->node.reset();
  CHECK(energy_of(owned.job, estimate, Seconds(10)) == Approx(8 * 308 * 10 * 1.5));
}

TEST_CASE("without a power limit there is no power") {
  const OwnedJob owned(two_layers(), nodes_of_four(), Assumptions{}, 1000);
  CHECK_FALSE(power_of(owned.job, explained()));
}

}  // namespace power_tests
