// Tests a step, and results derived from the step, with coefficients other than those that the step was computed with.

#include "estimator/step/step.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <Eigen/Dense>
#include <unsupported/Eigen/AutoDiff>

#include "calibration/inputs/study.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/step/estimate.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/property/random_plans.hpp"

namespace step_tests {

namespace {

using namespace ddl;

/// Returns random coefficients. Coefficients that are zero by default are `least` or more in their own units.
Learned some_coefficients(Random& random, int least = 0) {
  Learned learned;
  for (const CoefficientRow& row : coefficient_table) {
    if (row.by_family && row.is_factor()) learned[row.coefficient] = std::exp2(random.whole(-20, 20) / 10.0);
  }
  learned[Coefficient::repeated] = random.whole(least, 10) / 10.0;
  learned[Coefficient::unsharded_weight_sync] = random.whole(least, 3) * 1e-10;
  learned[Coefficient::straggler_factor] = random.whole(least, 3) / 10.0;
  learned[Coefficient::per_micro_batch] = random.whole(least, 3) * 1e-4;
  learned[Coefficient::per_iteration] = random.whole(least, 3) * 1e-3;
  return learned;
}

/// Returns a copy of the job with given algorithms, and with these coefficients.
Job with_given_algorithms(const Job& job, const Plan& plan, const Learned& learned, Seconds start) {
  Assumptions assumptions = job.assumptions;
  assumptions.ring_only = true;
  assumptions.host_launch = true;
  assumptions.learned = true;
  Coefficients coefficients = job.coefficients;
  coefficients.software.launch_overhead = start;
  coefficients.learned = {};
  if (plan.mesh.family() != 0) coefficients.learned.emplace_back(plan.mesh.family(), learned);
  return job.with_assumptions(assumptions).with_coefficients(std::move(coefficients));
}

template <class T>
T predicted(const StepTemplate& step_template, const CoefficientValues<T>& x) {
  Timing<T> timing = run(step_template.step, x);
  finish(step_template.step, step_template.updates, x, timing);
  return timing.step_time();
}

}  // namespace

TEST_CASE("for any coefficients, a step gives the time of a plan predicted with them") {
  Random random(71);
  int compared = 0;
  for_random_plans(72, 300, [&](const OwnedJob& owned, const Plan& plan) {
    if (plan.mesh.family() == 0 || owned.job.assumptions.slot_pipeline) return;
    const Learned before = random.chance() ? Learned{} : some_coefficients(random);
    Learned after = some_coefficients(random);
    const Seconds start(random.chance() ? 0.0 : 20e-6), later(30e-6);
    const Job priced = with_given_algorithms(owned.job, plan, before, start);
    const Job other = with_given_algorithms(owned.job, plan, after, later);
    const Estimator estimator(priced), otherwise(other);
    if (estimator.stages(plan).empty() || estimator.stages(plan) != otherwise.stages(plan)) return;
    const StepTemplate step_template = estimator.steps().step_template(plan);
    INFO(owned.model.name << ": " << text_of(plan));
    REQUIRE(predicted(step_template, step_template.step.origin) == Approx(estimator.step_time(plan).value()).epsilon(1e-12));
    after[Coefficient::launch_overhead] = later.value();
    REQUIRE(predicted(step_template, after) == Approx(otherwise.step_time(plan).value()).epsilon(1e-9));
    ++compared;
  });
  REQUIRE(compared > 100);
}

TEST_CASE("the step of a plan does not depend on which of its numbers of virtual stages was asked for before") {
  int compared = 0;
  for_random_plans(75, 400, [&](const OwnedJob& owned, const Plan& asked) {
    const Estimator estimator(owned.job);
    if (asked.mesh[Axis::pipeline] == 1 || estimator.stages(asked).empty()) return;
    Plan plan = asked;
    plan.schedule = Schedule::one_forward_one_backward;
    for (const int chunks : estimator.steps().virtual_stages_of(plan)) {
      plan.virtual_stages = chunks;
      INFO(owned.model.name << ": " << text_of(plan));
      const PlanSteps::Staged& after = estimator.steps().staged(plan);
      const Estimator afresh(owned.job);
      REQUIRE(after.step == afresh.steps().staged(plan).step);
      REQUIRE(after.step_time() == afresh.steps().staged(plan).step_time());
      if (chunks > 1) ++compared;
    }
  });
  REQUIRE(compared > 20);
}

TEST_CASE("each stage of a pipeline has the tasks and the updates of its own layers") {
  // Most stages of this model have equal layers, for which tasks and updates are computed once.
  StudySpec spec;
  spec.model = "gpt2-xl";
  spec.machine = "dgx-a100";
  const Study study(spec);
  const Estimator estimator(study.job());
  Plan plan;
  plan.mesh = {{Axis::data, 2}, {Axis::pipeline, 8}};
  plan.global_batch = 64;
  plan.micro_batches = 16;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  const std::vector<int> firsts = estimator.stages(plan);
  REQUIRE(firsts.size() == 9);
  const auto [recompute, blocks] =
      GENERATE(table<Recompute, int>({{Recompute::none, 0}, {Recompute::full, 0}, {Recompute::full, 2}}));
  plan.recompute = recompute;
  plan.recompute_blocks = blocks;
  const Step step = estimator.steps().staged(plan).step;
  const Updates updates = estimator.steps().updates(plan);
  const LayerCostTable& costs = estimator.tables().costs(plan);
  for (int stage = 0; stage < 8; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    const int first = firsts[index], last = firsts[index + 1];
    Seconds forward{}, backward{};
    for (const Task& task : step.tasks) {
      if (task.stage == stage && task.part == Part::forward) forward += task.time.time();
      if (task.stage == stage && task.part == Part::backward) backward += task.time.time();
    }
    const LayerCosts own = costs.between(first, last), again = recomputed_costs(study.job(), costs, plan, first, last);
    INFO("stage " << stage);
    CHECK(forward.value() == Approx(own[LayerTime::forward].value()).epsilon(1e-9));
    CHECK(backward.value() == Approx((own[LayerTime::backward] + again[LayerTime::forward]).value()).epsilon(1e-9));
    const Updates alone = updates_of(study.job(), plan, costs, {first, last});
    CHECK(updates.stages[index].update.time().value() == Approx(alone.stages[0].update.time().value()).epsilon(1e-9));
    CHECK(updates.stages[index].exchange.total().value() == Approx(alone.stages[0].exchange.total().value()).epsilon(1e-9));
  }
}

TEST_CASE("longer kernels never make a step shorter") {
  Random random(93);
  const auto time = [&] { return Term(Seconds(random.whole(0, 100) / 10.0)); };
  for (int turn = 0; turn < 3000; ++turn) {
    Step step;
    step.micro_batches = random.whole(1, 6);
    step.transfers.resize(1);
    const double forward = random.whole(1, 50) / 10.0, backward = random.whole(1, 50) / 10.0;
    Updates updates;
    Updates::Stage& own = updates.stages.emplace_back();
    own.of_gradients = time();
    own.of_weights = time();
    own.of_copies = time();
    own.parts = {1.0 * random.whole(1, 20), 1.0 * random.whole(1, 20)};
    own.exchange.rounds = random.chance() ? 1 : step.micro_batches;
    own.exchange.gathers = random.whole(0, 2) * step.micro_batches;
    own.exchange.copies_overlap = random.chance();
    own.window = random.of(std::vector{Window::none, Window::backward, Window::computing});
    if (random.chance()) updates.slowdown = {random.whole(10, 15) / 10.0, random.whole(10, 15) / 10.0, {}};
    const auto taken = [&](double longer) {
      step.tasks = {{0, false, Part::forward, 0, Term(Seconds(forward * longer))},
                    {0, true, Part::backward, 0, Term(Seconds(backward * longer))}};
      return predicted(StepTemplate{step, updates}, step.origin);
    };
    INFO("turn " << turn);
    CHECK(taken(1) <= taken(1 + random.whole(1, 10) / 10.0) * (1 + 1e-12));
  }
}

TEST_CASE("longer backward kernels of some stages never make the step of a pipeline shorter") {
  Random random(94);
  const auto time = [&] { return Term(Seconds(random.whole(0, 100) / 10.0)); };
  for (int turn = 0; turn < 3000; ++turn) {
    Step step;
    step.stages = random.whole(2, 4);
    step.micro_batches = random.whole(1, 6);
    step.chunks = random.whole(1, 2);
    step.overlapped_batches = std::min<double>(step.micro_batches, random.whole(1, 3));
    step.fills_bubbles = step.chunks == 1 && random.chance();
    step.has_end = random.chance();
    step.several_ranks = random.chance();
    step.rank_waiting = random.whole(0, 3) / 10.0;
    step.transfers.resize(static_cast<std::size_t>(step.stages));
    const double rounds = random.chance() ? 1 : step.micro_batches;
    const Window window = random.of(std::vector{Window::none, Window::backward, Window::computing});
    Updates updates;
    if (random.chance()) updates.slowdown = {random.whole(10, 15) / 10.0, random.whole(10, 15) / 10.0, {}};
    std::vector<double> longer;
    for (int stage = 0; stage < step.stages; ++stage) {
      step.tasks.push_back({stage, false, Part::forward, 0, time(), 1 / step.chunks});
      step.tasks.push_back({stage, true, Part::backward, 0, time(), 1 / step.chunks});
      longer.push_back(random.chance() ? 0 : random.whole(1, 50) / 10.0);
      Updates::Stage& own = updates.stages.emplace_back();
      own.of_gradients = time();
      own.of_weights = time();
      own.of_copies = time();
      own.parts = {1.0 * random.whole(1, 20), 1.0 * random.whole(1, 20)};
      own.exchange.rounds = rounds;
      own.exchange.gathers = random.whole(0, 2) * step.micro_batches;
      own.exchange.copies_overlap = random.chance();
      own.window = window;
    }
    Step slower = step;
    for (Task& task : slower.tasks) {
      if (task.backward) task.time.add(Seconds(longer[static_cast<std::size_t>(task.stage)]));
    }
    INFO("turn " << turn);
    const double taken = predicted(StepTemplate{step, updates}, step.origin);
    CHECK(taken <= predicted(StepTemplate{slower, updates}, step.origin) * (1 + 1e-12));
  }
}

TEST_CASE("no assignment of tasks to stages takes less than the step without stages") {
  Random random(91);
  for (int turn = 0; turn < 500; ++turn) {
    Step step;
    step.stages = random.whole(1, 6);
    step.micro_batches = random.whole(1, 12);
    step.origin[Coefficient::launch_overhead] = random.chance() ? 0.0 : 0.5;
    step.several_ranks = random.chance();
    step.rank_waiting = random.whole(0, 3) / 10.0;
    step.straggling = random.whole(0, 1) / 5.0;
    step.slowest_of = random.whole(1, 8);
    step.origin[Coefficient::straggler_factor] = random.whole(0, 2) / 10.0;
    step.fixed_waiting = Seconds(random.whole(0, 2));
    step.chunks = step.stages > 1 ? random.whole(1, 3) : 1;
    for (int i = random.whole(1, 30); i > 0; --i) {
      const bool backward = random.chance();
      const double launches = random.whole(0, 3);
      const Part part = random.of(
          std::vector{backward ? Part::backward : Part::forward, Part::layer_collectives, Part::halo, Part::waiting});
      step.tasks.push_back({random.whole(0, step.stages - 1), backward, part, launches,
                            Term(Seconds(random.whole(0, 100) / 10.0)), 1 / step.chunks});
    }
    step.transfers.resize(static_cast<std::size_t>(step.stages));
    for (std::size_t stage = 1; stage < step.transfers.size(); ++stage)
      step.transfers[stage] = Term(Seconds(random.whole(0, 10) / 10.0));
    const double taken = run(step, step.origin).step_time();
    CHECK(shortest_run(relaxed(step)).value() <= taken * (1 + 1e-12));
    if (step.stages == 1) CHECK(shortest_run(relaxed(step)).value() == Approx(taken));
  }
}

TEST_CASE("derivatives of a step equal the derivatives of its time") {
  using Number = Eigen::AutoDiffScalar<Eigen::Matrix<double, coefficient_table.size(), 1>>;
  Random random(73);
  int compared = 0;
  for_random_plans(74, 60, [&](const OwnedJob& owned, const Plan& plan) {
    if (plan.mesh.family() == 0) return;
    const Job job = with_given_algorithms(owned.job, plan, Learned{}, Seconds(20e-6));
    const Estimator estimator(job);
    if (estimator.stages(plan).empty()) return;
    const StepTemplate step_template = estimator.steps().step_template(plan);
    Learned at = some_coefficients(random, 1);
    at[Coefficient::launch_overhead] = 25e-6;
    CoefficientValues<Number> x;
    for (const CoefficientRow& row : coefficient_table) {
      x[row.coefficient] = Number(at[row.coefficient], static_cast<int>(coefficient_table.size()),
                                  static_cast<int>(index_of(row.coefficient)));
    }
    const Number time = predicted(step_template, x);
    REQUIRE(time.value() == predicted(step_template, at));
    for (const CoefficientRow& row : coefficient_table) {
      // Where another stage becomes the longest, or where overlap begins, the time has a kink. Over
      // a short distance, the time is linear.
      const double scale = row.is_factor() ? at[row.coefficient] : (row.by_family ? 1e-3 : 1e-6);
      const double way = 1e-7 * scale;
      Learned more = at;
      more[row.coefficient] += way;
      const double slope = (predicted(step_template, more) - time.value()) / way;
      INFO(owned.model.name << ": " << text_of(plan) << ", " << row.name);
      REQUIRE(slope * scale == Approx(time.derivatives()[static_cast<Eigen::Index>(index_of(row.coefficient))] * scale)
                                   .margin(1e-6 * time.value()));
      if (!step_template.step.depends_on(row.coefficient) && !step_template.updates.depends_on(row.coefficient))
        REQUIRE(slope == 0);
    }
    ++compared;
  });
  REQUIRE(compared > 30);
}

TEST_CASE("the tasks of a step, each times its count, add up to its parts") {
  for_random_plans(75, 100, [&](const OwnedJob& owned, const Plan& plan) {
    const Estimator estimator(owned.job);
    if (estimator.stages(plan).empty()) return;
    const Step step = estimator.steps().step_template(plan).step;
    const Timing<double> timing = run(step, step.origin);
    EnumArray<Part, double> parts;
    for (const Task& task : step.tasks) {
      const Counts counts = counts_of(step, timing.critical, task);
      parts[counts.part] += task.exposed().value() * counts.runs;
      parts[Part::bubble] += task.time.time().value() * counts.bubble_runs;
    }
    for (const Part part : {Part::forward, Part::backward, Part::layer_collectives, Part::halo, Part::bubble}) {
      INFO(owned.model.name << ": " << text_of(plan));
      REQUIRE(timing[part] == Approx(parts[part]).epsilon(1e-12));
    }
  });
}

TEST_CASE("the layers of an explanation add up to the parts if stages do not wait for their layers") {
  Random random(76);
  for_random_plans(77, 60, [&](const OwnedJob& owned, const Plan& plan) {
    if (plan.mesh.family() == 0) return;
    const Job job = with_given_algorithms(owned.job, plan, some_coefficients(random, 1), Seconds(20e-6));
    const Explanation explanation = explain(Estimator(job), plan);
    if (!explanation.has_time()) return;
    Breakdown sum;
    for (const LayerExplanation& layer : explanation.layers) {
      for (const TimePart& each : time_parts) sum[each.part] += layer.time[each.part];
    }
    for (const TimePart& each : time_parts) {
      INFO(owned.model.name << ": " << text_of(plan) << ", " << each.name);
      const double step_time = explanation.estimate.time.step_time().value();
      REQUIRE((sum[each.part]).value() ==
              Approx((explanation.estimate.time[each.part]).value()).epsilon(1e-9).margin(1e-9 * step_time));
    }
  });
}

}  // namespace step_tests
