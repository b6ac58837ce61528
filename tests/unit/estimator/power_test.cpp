#include "estimator/explain/power.hpp"

#include <cmath>

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

TEST_CASE("under a reduced power limit, no activity draws more than the limit") {
  Assumptions assumptions;
  assumptions.power_limit = 120;
  const OwnedJob owned(two_layers(), with_power(400, std::nullopt), assumptions, 1000);
  // Products, memory-bound kernels and exchanges draw 0.3 of 400 W; waiting still draws 0.2.
  CHECK(power_of(owned.job, explained())->device == Approx(400 * (0.6 * 0.3 + 0.2 * 0.3 + 0.1 * 0.3 + 0.1 * 0.2)));
}

TEST_CASE("a kernel slows down as its clock falls under a reduced power limit") {
  const KernelPower product{.drawn = 1, .clock = 1}, moving{.drawn = 0.5, .clock = 1};
  CHECK(slower_under(1, product, 0.8) == 1);
  CHECK(slower_under(0.6, moving, 0.8) == 1);
  // A seventh of the limit is spent at any clock. Of the rest, 0.75 of the limit leaves (0.75 - 1/7) / (6/7) = 0.708, and
  // the clock is its cube root.
  CHECK(slower_under(0.75, product, 0.8) == Approx(1 / std::cbrt(0.7083333)));
  // Half of the limit leaves 0.417, less than the 0.8³ of the least voltage. Below it, power is proportional to the clock.
  CHECK(slower_under(0.5, product, 0.8) == Approx(0.64 / 0.4166667));
  CHECK(slower_under(0.5, product, 0) == Approx(1 / std::cbrt(0.4166667)));
  // A kernel that draws half of the limit needs (0.4 - 1/7) / (0.5 - 1/7) = 0.72 at 0.4 of the limit.
  CHECK(slower_under(0.4, moving, 0.8) == Approx(1 / std::cbrt(0.72)));
  // At the device's own limit, the clock is already 0.85: its power is 0.85³, of which 2/3 of the limit leave 0.611.
  CHECK(slower_under(2.0 / 3, {.drawn = 1, .clock = 0.85}, 0.8) == Approx(0.85 * 0.64 / (0.6111111 * 0.85 * 0.85 * 0.85)));
}

TEST_CASE("the least voltage is reached at 1.1 GHz") {
  Device device = nodes_of_four().device;
  device.multiprocessors = 108;
  // 108 multiprocessors at 1.41 GHz, as A100 has
  CHECK(clock_of_least_voltage(device, 108 * 1.41e9) == Approx(1.1 / 1.41));
  CHECK(clock_of_least_voltage(device, 108 * 1.0e9) == 1);
  device.multiprocessors.reset();
  CHECK(clock_of_least_voltage(device, 108 * 1.41e9) == 0);
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
