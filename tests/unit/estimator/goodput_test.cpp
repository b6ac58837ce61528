#include "estimator/explain/goodput.hpp"

#include <cmath>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace goodput_tests {

using namespace ddl;

namespace {

constexpr double minute = 60, hour = 3600, day = 86400;

FailureModel model_of(double between, double restart, double checkpoint, double background = 0) {
  return {Seconds(between), Seconds(restart), Seconds(checkpoint), Seconds(background)};
}

/// Simulates many failures of a training one by one, and returns the share of the time in which steps are computed that are
/// not repeated. Failures also interrupt checkpoints and restarts.
double simulated(const FailureModel& model, Seconds every, int failures, unsigned seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> until_failure(1 / model.between_failures.value());
  const double cycle = every.value() + model.checkpoint.value();
  double elapsed = 0, useful = 0;
  for (int i = 0; i < failures; ++i) {
    // From the last checkpoint to the failure: checkpoints that are completely written are kept.
    const double run = until_failure(random);
    elapsed += run;
    if (run > model.background.value()) useful += std::floor((run - model.background.value()) / cycle) * every.value();
    for (double failure = until_failure(random); failure < model.restart.value(); failure = until_failure(random))
      elapsed += failure;
    elapsed += model.restart.value();
  }
  return useful / elapsed;
}

/// Simulates a job that waits if more nodes are in repair than there are spares. Returns the share of waiting.
double simulated_waiting(double between, double repair, std::size_t spares, int failures, unsigned seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> until_failure(1 / between);
  std::priority_queue<double, std::vector<double>, std::greater<>> repaired;
  double now = 0, waited = 0;
  for (int i = 0; i < failures; ++i) {
    now += until_failure(random);
    while (!repaired.empty() && repaired.top() <= now) repaired.pop();
    repaired.push(now + repair);
    if (repaired.size() <= spares) continue;
    waited += repaired.top() - now;
    now = repaired.top();
    repaired.pop();
  }
  return waited / now;
}

}  // namespace

TEST_CASE("the closed form of the goodput is within 2 % of a simulation of failures") {
  const std::vector<FailureModel> models{
      model_of(3 * hour, 10 * minute, 46),                // a large job
      model_of(5 * day, 30 * minute, 40),                 // a small job
      model_of(20 * minute, 5 * minute, 3 * minute),      // failures almost as frequent as checkpoints
      model_of(3 * hour, 10 * minute, 2, 5 * minute),     // asynchronous checkpoints
      model_of(30 * minute, 2 * minute, 5, 10 * minute),  // asynchronous checkpoints with frequent failures
  };
  for (const FailureModel& model : models) {
    for (const double factor : {0.3, 1.0, 4.0}) {
      const Seconds every = best_checkpoint_interval(model) * factor;
      INFO(model.between_failures.value() << " s, every " << every.value() << " s");
      CHECK(goodput(model, every) == Approx(simulated(model, every, 400'000, 1)).epsilon(0.02));
    }
  }
}

TEST_CASE("Daly's interval is the best one, and Young's if checkpoints are short") {
  // Young: √(2 · 46 s · 3 h) = 996.8 s. Daly's first terms: 996.8 · (1 + 0.0461/3 + 0.0461²/9) − 46 = 966.4 s.
  const FailureModel large = model_of(3 * hour, 10 * minute, 46);
  CHECK(best_checkpoint_interval(large).value() == Approx(966.4).epsilon(1e-3));
  for (const FailureModel& model : {large, model_of(20 * minute, 5 * minute, 3 * minute), model_of(30 * day, minute, 1)}) {
    const Seconds best = best_checkpoint_interval(model);
    for (const double factor : {0.8, 0.9, 1.1, 1.25}) CHECK(goodput(model, best * factor) < goodput(model, best));
  }
  // A checkpoint that takes longer than two mean times between failures: every M [Daly 2006, equation 37].
  CHECK(best_checkpoint_interval(model_of(minute, 0, 3 * minute)).value() == minute);
  // An asynchronous checkpoint is complete before the next one.
  CHECK(best_checkpoint_interval(model_of(3 * hour, 0, 1, hour)).value() == hour);
}

TEST_CASE("rare failures leave the time of checkpoints, and failures without end leave nothing") {
  // 1 h of steps and 1 min of checkpoint.
  CHECK(goodput(model_of(1e15, 10 * minute, minute), Seconds(hour)) == Approx(60.0 / 61).epsilon(1e-6));
  const double none = goodput(model_of(1, 365 * day, hour), Seconds(day));
  CHECK(none > 0);
  CHECK(none < 1e-100);
}

TEST_CASE("a job waits for repairs as Erlang's loss formula says") {
  // One server, one node in repair on average: 1/2. Two servers and 2: (4/2) / (1 + 2 + 4/2) = 0.4.
  CHECK(waiting_for_repair(1, 0) == Approx(0.5));
  CHECK(waiting_for_repair(2, 1) == Approx(0.4));
  CHECK(waiting_for_repair(3, 0) == Approx(0.75));
  for (const int spares : {0, 1, 3, 8}) {
    INFO(spares);
    CHECK(waiting_for_repair(4, spares) ==
          Approx(simulated_waiting(hour, 4 * hour, static_cast<std::size_t>(spares), 400'000, 1)).epsilon(0.02));
  }
}

TEST_CASE("a training that is shorter than the time between checkpoints waits for none") {
  Assumptions assumptions;
  assumptions.recovery.failures = {.interval = Seconds(hour), .of = FailingUnit::job};
  assumptions.recovery.failures.restart = Seconds(minute);
  assumptions.recovery.checkpoint_time = Seconds(30);
  const OwnedJob owned(load_model("alexnet"), nodes_of_four(), assumptions, 1000);
  Plan plan;
  plan.global_batch = 4;
  const Estimate estimate = Estimator(owned.job).estimate(plan);
  const auto short_one = goodput_of(owned.job, estimate, Seconds(minute)),
             long_one = goodput_of(owned.job, estimate, Seconds(day));
  REQUIRE(short_one);
  REQUIRE(long_one);
  CHECK(long_one->has_checkpoints);
  CHECK(long_one->model.checkpoint.value() == 30);
  CHECK_FALSE(short_one->has_checkpoints);
  // T / (M e^(R/M) (e^(T/M) - 1)), where T is the length of the training.
  CHECK(short_one->share == Approx(minute / (hour * std::exp(1.0 / 60) * std::expm1(1.0 / 60))));
}

TEST_CASE("checkpoints are not more frequent than steps") {
  Assumptions assumptions;
  assumptions.recovery.failures = {.interval = Seconds(hour), .of = FailingUnit::job};
  assumptions.recovery.checkpoint_time = Seconds(30);
  assumptions.recovery.checkpoint_every = Seconds(1e-9);
  const OwnedJob owned(load_model("alexnet"), nodes_of_four(), assumptions, 1000);
  Plan plan;
  plan.global_batch = 4;
  const Estimate estimate = Estimator(owned.job).estimate(plan);
  const std::optional<Goodput> goodput = goodput_of(owned.job, estimate, Seconds(day));
  REQUIRE(goodput);
  CHECK(goodput->is_raised);
  CHECK(goodput->every >= estimate.time.step_time());
}

TEST_CASE("a checkpoint holds trained weights, master copies and the optimizer's state once") {
  Estimate estimate;
  const OwnedJob owned(load_model("gpt3-175b"), nodes_of_four(), Assumptions{}, 1000);
  const Job& job = owned.job;
  Plan& plan = estimate.plan;
  plan.precision = Precision::bf16;
  plan.optimizer = Optimizer::adam;
  // 2 bytes of weight, 4 of its master copy and 8 of both moments.
  CHECK(checkpoint_bytes(job, plan).value() == Approx(14 * job.facts.parameters));
  plan.precision = Precision::fp8;  // copies in fp8 are not saved
  CHECK(checkpoint_bytes(job, plan).value() == Approx(14 * job.facts.parameters));
  plan.precision = Precision::fp32;
  CHECK(checkpoint_bytes(job, plan).value() == Approx(12 * job.facts.parameters));
}

TEST_CASE("a checkpoint holds what exchanges keep for later steps, but nothing that is on its way") {
  Plan plan;
  plan.optimizer = Optimizer::momentum;
  plan.mesh.set(Axis::data, 8);
  const auto bytes_each = [&](const Assumptions& assumptions) {
    const OwnedJob owned(load_model("alexnet"), nodes_of_four(), assumptions, 1000);
    return checkpoint_bytes(owned.job, plan).value() / owned.job.facts.parameters;
  };
  // A weight and its momentum in fp32.
  Assumptions assumptions;
  CHECK(bytes_each(assumptions) == Approx(8));
  assumptions.synchronization = Synchronization::gossip;  // the weights of a neighbor
  CHECK(bytes_each(assumptions) == Approx(8));
  assumptions.synchronization = Synchronization::async;
  assumptions.local_steps = 10;  // the sum of gradients
  CHECK(bytes_each(assumptions) == Approx(8));
  assumptions.synchronization = Synchronization::sync;  // outer weights and momentum
  CHECK(bytes_each(assumptions) == Approx(16));
  assumptions.local_steps = 1;
  assumptions.compression = Compression::top_k;  // the residual
  CHECK(bytes_each(assumptions) == Approx(12));
}

}  // namespace goodput_tests
