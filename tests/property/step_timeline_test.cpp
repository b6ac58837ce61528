// Tests that the slices of a step add up to the step's estimate, stage by stage.

#include "estimator/step/step_timeline.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "estimator/schedules/schedule.hpp"
#include "estimator/step/estimate.hpp"
#include "tests/catch.hpp"
#include "tests/property/random_plans.hpp"

namespace step_timeline_tests {

namespace {

using namespace ddl;

/// Returns a copy of the job with waiting for hosts and for other ranks.
Job that_waits(const Job& job) {
  Assumptions assumptions = job.assumptions;
  assumptions.host_launch = true;
  Coefficients coefficients = job.coefficients;
  coefficients.software.launch_overhead = Seconds(200e-6);
  coefficients.software.rank_waiting = 0.01;
  return job.with_assumptions(assumptions).with_coefficients(std::move(coefficients));
}

/// Calls `check` with random plans, each with every schedule that supports the plan.
template <class Check>
void for_random_schedules(std::uint64_t seed, int plans, const Check& check) {
  for_random_plans(seed, plans, [&](const OwnedJob& owned, const Plan& plan) {
    const int stages = plan.mesh[Axis::pipeline];
    for (const ScheduleOrder* const order : all_schedules()) {
      if (stages == 1 ? order->schedule != plan.schedule : !order->takes(stages, plan.micro_batches)) continue;
      Plan scheduled = plan;
      scheduled.schedule = order->schedule;
      if (Estimator(owned.job).limits(scheduled).empty()) check(owned, scheduled);
    }
  });
}

}  // namespace

TEST_CASE("slices of a stage do not overlap, and end with the step") {
  std::set<Schedule> schedules;
  std::set<StepWork> works;
  int pipelines = 0, alone = 0;
  for_random_schedules(301, 150, [&](const OwnedJob& owned, const Plan& plan) {
    const Job job = that_waits(owned.job);
    const Estimator estimator(job);
    const Estimate estimate = estimator.estimate(plan);
    const auto timeline = step_timeline(estimator, plan);
    INFO(owned.model.name << ": " << text_of(plan));
    REQUIRE(timeline.has_value() == (estimate.time.step_time().value() > 0));
    if (!timeline) return;
    const double step_time = estimate.time.step_time().value(), margin = 1e-9 * step_time;
    REQUIRE(timeline->step_time.value() == Approx(step_time).epsilon(1e-12));
    std::map<int, double> free;  // for each stage
    double last = 0, before = 0, once = 0;
    std::map<StepWork, double> sums;
    for (const StepSlice& slice : timeline->slices) {
      REQUIRE(slice.begin.value() >= before);
      before = slice.begin.value();
      REQUIRE(slice.end > slice.begin);
      double& own = free[slice.stage];
      REQUIRE(slice.begin.value() >= own - margin);
      // Work that is done once per step involves all stages.
      if (slice.stage == every_stage) REQUIRE(slice.begin.value() >= last - margin);
      REQUIRE(slice.begin.value() >= free[every_stage] - margin);
      own = slice.end.value();
      last = std::max(last, own);
      if (slice.stage == every_stage) once += (slice.end - slice.begin).value();
      sums[slice.work] += (slice.end - slice.begin).value();
      works.insert(slice.work);
    }
    REQUIRE(last == Approx(step_time).epsilon(1e-9));
    REQUIRE(sums[StepWork::gradient_exchange] ==
            Approx(estimate.time[Part::gradient_exchange].value()).epsilon(1e-9).margin(margin));
    REQUIRE(sums[StepWork::weight_update] ==
            Approx(estimate.time[Part::weight_update].value()).epsilon(1e-9).margin(margin));
    REQUIRE(sums[StepWork::input] == Approx(estimate.time[Part::input].value()).epsilon(1e-9).margin(margin));
    if (plan.mesh[Axis::pipeline] > 1) {
      ++pipelines;
      schedules.insert(plan.schedule);
      return;
    }
    ++alone;
    // The two timelines differ only in the order of slices.
    REQUIRE(timeline->pace == Approx(1).epsilon(1e-9));
    const Breakdown& time = estimate.time;
    REQUIRE(sums[StepWork::forward] == Approx(time[Part::forward].value()).epsilon(1e-9));
    REQUIRE(sums[StepWork::backward] == Approx(time[Part::backward].value()).epsilon(1e-9));
    REQUIRE(sums[StepWork::layer_exchange] ==
            Approx((time[Part::layer_collectives] + time[Part::halo]).value()).epsilon(1e-9).margin(margin));
    REQUIRE(sums[StepWork::waiting] == Approx(time[Part::waiting].value()).epsilon(1e-9).margin(margin));
  });
  CHECK(schedules.size() == 5);
  CHECK(works.size() == 8);  // all kinds of work except reading samples
  CHECK(pipelines > 50);
  CHECK(alone > 50);
}

TEST_CASE("hidden communication overlaps with compute of its stage, and is no longer than the estimate hides") {
  int hidden = 0;
  for_random_schedules(303, 80, [&](const OwnedJob& owned, const Plan& plan) {
    const Estimator estimator(owned.job);
    const Estimate estimate = estimator.estimate(plan);
    const auto timeline = step_timeline(estimator, plan);
    if (!timeline) return;
    INFO(owned.model.name << ": " << text_of(plan));
    const double margin = 1e-9 * timeline->step_time.value();
    std::map<int, double> gradients;
    for (const StepSlice& slice : timeline->hidden) {
      REQUIRE(is_exchange(slice.work));
      REQUIRE(slice.begin <= slice.end);
      const auto computes = [&](const StepSlice& each) {
        return each.stage == slice.stage && !is_exchange(each.work) && each.work != StepWork::waiting &&
               each.begin.value() <= slice.begin.value() + margin && slice.end.value() <= each.end.value() + margin;
      };
      REQUIRE(std::any_of(timeline->slices.begin(), timeline->slices.end(), computes));
      if (slice.work == StepWork::gradient_exchange) gradients[slice.stage] += (slice.end - slice.begin).value();
    }
    for (const auto& [stage, sum] : gradients) REQUIRE(sum <= estimate.hidden_exchange.value() * (1 + 1e-9) + margin);
    hidden += timeline->hidden.empty() ? 0 : 1;
  });
  CHECK(hidden > 0);
}

TEST_CASE("each stage has each pass of each micro-batch once") {
  for_random_schedules(302, 60, [&](const OwnedJob& owned, const Plan& plan) {
    if (plan.mesh[Axis::pipeline] == 1) return;
    const Estimator estimator(owned.job);
    const auto timeline = step_timeline(estimator, plan);
    if (!timeline) return;
    INFO(owned.model.name << ": " << text_of(plan));
    std::map<std::pair<int, StepWork>, std::int64_t> counts;
    for (const StepSlice& slice : timeline->slices) ++counts[{slice.stage, slice.work}];
    const bool both_ways = plan.schedule == Schedule::dual_pipe;
    const std::int64_t all = plan.micro_batches * (both_ways ? 1 : timeline->chunks);
    for (int stage = 0; stage < timeline->stages; ++stage) {
      // A stage that only reads the batch may have no gradient of its input.
      for (const StepWork work : {StepWork::forward, StepWork::backward, StepWork::weight_gradient}) {
        const std::int64_t count = counts[{stage, work}];
        CHECK((count == 0 || count == all));
      }
      CHECK(counts[{stage, StepWork::forward}] == all);
    }
    CHECK(timeline->pace > 0.5);
    CHECK(timeline->pace < 2);
  });
}

TEST_CASE("a step of too many slots has no timeline") {
  const OwnedJob owned(tokens(), three_levels(), Assumptions{}, 54321.0);
  const Estimator estimator(owned.job);
  Plan plan;
  plan.micro_batches = most_drawn_slots / 3;
  plan.global_batch = plan.micro_batches;
  CHECK(step_timeline(estimator, plan).has_value());
  plan.global_batch = ++plan.micro_batches;
  CHECK_FALSE(step_timeline(estimator, plan).has_value());
}

TEST_CASE("a step with older versions of weights has a timeline unless stages of a pipeline overlap steps") {
  Assumptions assumptions;
  assumptions.weight_versions = true;
  const OwnedJob owned(tokens(), three_levels(), assumptions, 54321.0);
  const Estimator estimator(owned.job);
  Plan plan;
  plan.global_batch = plan.micro_batches = 4;
  CHECK(step_timeline(estimator, plan).has_value());
  plan.mesh.set(Axis::pipeline, 2);
  REQUIRE(estimator.limits(plan).empty());
  CHECK_FALSE(step_timeline(estimator, plan).has_value());
}

}  // namespace step_timeline_tests
