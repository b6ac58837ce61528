#include "estimator/explain/comparison.hpp"

#include "tests/catch.hpp"
#include "tests/compared_estimates.hpp"

using namespace ddl;

namespace {

Comparison compared(const Estimate& explained, const Estimate& other) {
  static const Model model;
  return compare({"this", explained, model}, {"that", other, model});
}

}  // namespace

TEST_CASE("the term that decides is the same, whichever plan is better") {
  const Estimate fast = estimate_of(1.0, 0.2, 4);
  const Estimate slow = estimate_of(1.1, 0.9, 3);
  for (const bool turned : {false, true}) {
    const Comparison comparison = turned ? compared(slow, fast) : compared(fast, slow);
    CHECK(comparison.both_fit());
    CHECK_FALSE(comparison.itself);
    REQUIRE(comparison.deciding_time);
    CHECK(comparison.deciding_time->name == "gradient_exchange");
    CHECK(comparison.deciding_time->difference().value() == Approx(turned ? -0.7 : 0.7));
    CHECK((comparison.other_time - comparison.explained_time).value() == Approx(turned ? -0.8 : 0.8));
  }
}

TEST_CASE("the activity that has grown most explains a slower plan") {
  CHECK(grown_most(estimate_of(1.0, 0.2, 4).time, estimate_of(1.1, 0.9, 4).time) == "gradient_exchange");
  CHECK(grown_most(estimate_of(0.2, 0.9, 4).time, estimate_of(1.1, 1.0, 4).time) == "compute");
}

TEST_CASE("a plan compared with itself is recognized") {
  const Model model;
  const Estimate one = estimate_of(1.0, 0.2, 4);
  CHECK(compare({"this", one, model}, {"this", one, model}).itself);
  CHECK_FALSE(compare({"this", one, model}, {"that", one, model}).itself);
}

TEST_CASE("a longer part of the time does not decide for a faster plan") {
  // 1.0 + 0.5 is compared with 0.2 + 1.0: the exchange is longer, but compute decides.
  const Comparison comparison = compared(estimate_of(1.0, 0.5, 4), estimate_of(0.2, 1.0, 4));
  REQUIRE(comparison.deciding_time);
  CHECK(comparison.deciding_time->name == "compute");
  CHECK(comparison.deciding_time->difference().value() == Approx(-0.8));
}

TEST_CASE("no term decides between plans whose times differ by less than half a percent") {
  const Comparison comparison = compared(estimate_of(1.0, 0.2, 4), estimate_of(1.001, 0.2, 6));
  CHECK_FALSE(comparison.deciding_time);
  CHECK(are_alike(comparison.explained_time, comparison.other_time));
}

TEST_CASE("a plan that does not fit is decided by memory") {
  const Estimate small = estimate_of(1.0, 0.2, 4);
  const Estimate large = estimate_of(0.5, 0.2, 23);
  for (const Comparison& comparison :
       {compared(small, large), compared(large, small), compared(large, estimate_of(1, 1, 31))}) {
    CHECK_FALSE(comparison.both_fit());
    CHECK_FALSE(comparison.deciding_time);
    REQUIRE(comparison.deciding_memory);
    CHECK(comparison.deciding_memory->name == "activations");
  }
  CHECK(compared(small, large).explained_standing == Standing::fits);
  CHECK(compared(small, large).other_standing == Standing::too_full);
}

TEST_CASE("an impossible plan is not compared") {
  const Estimate possible = estimate_of(1.0, 0.2, 4);
  const Comparison comparison = compared(possible, impossible());
  CHECK(comparison.explained_standing == Standing::fits);
  CHECK(comparison.other_standing == Standing::impossible);
  CHECK(comparison.other_time.value() == 0);
  CHECK(comparison.time.empty());
  CHECK(comparison.memory.empty());
  CHECK_FALSE(comparison.deciding_memory);
  // The plans have different batches, so that the time of the possible plan is that of an epoch.
  CHECK(compared(impossible(), possible).other_time.value() == Approx(120));
}

TEST_CASE("plans with different batches are compared by their epochs") {
  const Estimate small = estimate_of(1.0, 0.2, 4);
  Estimate large = estimate_of(1.0, 0.8, 4);
  large.plan.global_batch = 128;
  large.epoch = large.time.step_time() * 50.0;
  const Comparison comparison = compared(small, large);
  CHECK(comparison.basis == "epoch");
  // 100 steps of 1.0 + 0.2 are compared with 50 steps of 1.0 + 0.8.
  CHECK(comparison.explained_time.value() == Approx(120));
  CHECK(comparison.other_time.value() == Approx(90));
  REQUIRE(comparison.deciding_time);
  CHECK(comparison.deciding_time->name == "compute");
}
