#include "estimator/step/comparison.hpp"

#include "tests/catch.hpp"

using namespace ddl;

namespace {

/// A plan of 16 devices with these times in seconds and this much memory; its device has 16 GiB.
Estimate estimate_of(double compute, double gradients, double activations_gib) {
  Estimate estimate;
  estimate.plan.mesh.set(Axis::data, 16);
  estimate.plan.global_batch = 64;
  estimate.time.forward = Seconds(compute / 2);
  estimate.time.backward = Seconds(compute / 2);
  estimate.time.gradient_exchange = Seconds(gradients);
  estimate.epoch = estimate.time.iteration() * 100.0;
  estimate.memory.weights = 1_GiB;
  estimate.memory.activations = Bytes(activations_gib * 0x1p30);
  if (estimate.memory.total() > 16_GiB)
    estimate.limits.add({Limit::Kind::memory, estimate.memory.total().value(), (16_GiB).value(), -1});
  return estimate;
}

Estimate impossible() {
  Estimate estimate;
  estimate.plan.mesh.set(Axis::data, 16);
  estimate.plan.global_batch = 8;
  estimate.limits.add({Limit::Kind::batch, 16, 8, -1});
  return estimate;
}

Comparison compared(const Estimate& explained, const Estimate& other) {
  static const Model model;
  return compare({"this", explained, model}, {"that", other, model});
}

}  // namespace

TEST_CASE("the sentence names the term that decides, with its numbers, whichever plan is better") {
  const Estimate fast = estimate_of(1.0, 0.2, 4);
  const Estimate slow = estimate_of(1.1, 0.9, 3);
  Comparison comparison = compared(fast, slow);
  CHECK(
      comparison.sentence ==
      "that takes 800 ms (67 %) longer than this, 2.00 s against 1.20 s per iteration: exchanging gradients decides, 900 ms "
      "against 200 ms");
  REQUIRE(comparison.deciding_time);
  CHECK(comparison.deciding_time->name == "gradient_exchange");
  comparison = compared(slow, fast);
  CHECK(comparison.sentence ==
        "that is the faster one: it takes 800 ms (40 %) less than this, 1.20 s against 2.00 s per iteration: exchanging "
        "gradients decides, 200 ms against 900 ms");
}

TEST_CASE("of a faster plan, a part that is longer does not decide") {
  // 1.0 + 0.5 against 0.2 + 1.0: the exchange is longer, computing decides.
  const Comparison comparison = compared(estimate_of(1.0, 0.5, 4), estimate_of(0.2, 1.0, 4));
  REQUIRE(comparison.deciding_time);
  CHECK(comparison.deciding_time->name == "compute");
  CHECK(comparison.deciding_time->difference().value() == Approx(-0.8));
}

TEST_CASE("plans that take as long within half a percent differ by their memory") {
  const Comparison comparison = compared(estimate_of(1.0, 0.2, 4), estimate_of(1.001, 0.2, 6));
  CHECK_FALSE(comparison.deciding_time);
  CHECK(comparison.sentence ==
        "that takes as long as this within 0.5 %, 1.20 s against 1.20 s per iteration, with 2.00 GiB more memory");
  CHECK(compared(estimate_of(1, 0, 4), estimate_of(1, 0, 4)).sentence ==
        "that takes as long as this within 0.5 %, 1.00 s against 1.00 s per iteration, with as much memory");
}

TEST_CASE("a plan that does not fit is decided by memory") {
  const Estimate small = estimate_of(1.0, 0.2, 4);
  const Estimate large = estimate_of(0.5, 0.2, 23);
  CHECK(compared(small, large).sentence ==
        "that does not fit: it needs 24.0 GiB per device, which has 16.0 GiB: 8.00 GiB too much; activations decide, 23.0 "
        "GiB against 4.00 GiB of this");
  const Comparison turned = compared(large, small);
  CHECK(turned.sentence ==
        "that fits, with 1.20 s per iteration, where this does not: it needs 24.0 GiB per device, which has 16.0 GiB: 8.00 "
        "GiB too much; activations decide, 23.0 GiB against 4.00 GiB of that");
  CHECK_FALSE(turned.deciding_time);
  CHECK(compared(large, estimate_of(1, 1, 31)).sentence ==
        "neither fits: that needs 32.0 GiB per device, this 24.0 GiB: activations decide, 31.0 GiB against 23.0 GiB");
}

TEST_CASE("a plan that cannot be is not compared, and its reason is said") {
  const Estimate possible = estimate_of(1.0, 0.2, 4);
  const Comparison comparison = compared(possible, impossible());
  CHECK(comparison.sentence == "that cannot run: needs 16 samples per iteration, the global batch has 8");
  CHECK(comparison.time.empty());
  CHECK(comparison.memory.empty());
  CHECK_FALSE(comparison.deciding_memory);
  CHECK(compared(impossible(), estimate_of(1.0, 0.2, 4)).sentence ==
        "that can run, in 2 min 00 s per epoch, where this cannot: needs 16 samples per iteration, the global batch has 8");
  CHECK(compared(impossible(), impossible()).sentence ==
        "neither can run: that: needs 16 samples per iteration, the global batch has 8; this: needs 16 samples per "
        "iteration, the global batch has 8");
}

TEST_CASE("plans of other batches are compared by their epochs") {
  const Estimate small = estimate_of(1.0, 0.2, 4);
  Estimate large = estimate_of(1.0, 0.8, 4);
  large.plan.global_batch = 128;
  large.epoch = large.time.iteration() * 50.0;
  const Comparison comparison = compared(small, large);
  CHECK(comparison.basis == "epoch");
  // 120 s against 90 s: 100 of 1.0 + 0.2 against 50 of 1.0 + 0.8.
  CHECK(comparison.sentence ==
        "that is the faster one: it takes 30.0 s (25 %) less than this, 1 min 30 s against 2 min 00 s per epoch: computing "
        "forward and backward decides, 50.0 s against 1 min 40 s");
}
