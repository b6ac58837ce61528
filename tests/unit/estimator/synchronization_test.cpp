#include "estimator/exchanges/synchronization.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/strategies/data.hpp"
#include "estimator/strategies/strategy.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace workers_tests {

using namespace ddl;

namespace {

/// Workers with parameter servers. A worker computes a batch in `batch` seconds, the slow worker in `slow` seconds. An
/// exchange takes `exchange` on the worker's link, and keeps the servers busy for `served`.
struct Workers {
  int count = 8;
  double batch = 1, slow = 1, exchange = 0, served = 0;
  double spread = 0.1;  ///< standard deviation of the time of a batch
};

struct Simulated {
  double step = 0;       ///< time in which all workers together compute as many batches as there are workers
  double staleness = 0;  ///< mean number of updates between a worker's reading of weights and its update
};

/// Simulates the updates of asynchronous workers one by one. The servers serve one worker after the other.
Simulated simulated(const Workers& workers, int updates, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, workers.spread);
  const auto batch_of = [&](int worker) { return (worker == 0 ? workers.slow : workers.batch) + noise(random); };
  using Event = std::pair<double, int>;  // the time at which a worker asks the servers
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<int> seen(static_cast<std::size_t>(workers.count));
  std::uniform_real_distribution<double> start(0, workers.batch);
  for (int i = 0; i < workers.count; ++i) events.emplace(start(random) + batch_of(i), i);
  double now = 0, free = 0, stale = 0;
  for (int update = 0; update < updates; ++update) {
    const auto [asked, worker] = events.top();
    events.pop();
    free = std::max(free, asked) + workers.served;
    now = std::max(free, asked + workers.exchange);
    int& version = seen[static_cast<std::size_t>(worker)];
    stale += update - version;
    version = update + 1;
    events.emplace(now + batch_of(worker), worker);
  }
  return {now / updates * workers.count, stale / updates};
}

/// Simulates workers that are at most `ahead` steps ahead of the slowest one, and returns the time of a step.
double simulated_stale(const Workers& workers, int ahead, int steps, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, workers.spread);
  std::vector<double> ends(static_cast<std::size_t>(workers.count), 0.0);
  std::queue<double> slowest;  // the ends of the last steps of the slowest worker
  for (int i = 0; i <= ahead; ++i) slowest.push(0);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < ends.size(); ++i)
      ends[i] = std::max(ends[i], slowest.front()) + (i == 0 ? workers.slow : workers.batch) + noise(random);
    slowest.pop();
    slowest.push(*std::max_element(ends.begin(), ends.end()));
  }
  return *std::max_element(ends.begin(), ends.end()) / steps;
}

Plan data_parallel(int ranks) {
  Plan plan;
  plan.mesh.set(Axis::data, ranks);
  plan.global_batch = ranks;
  return plan;
}

Assumptions without_barrier(Synchronization way) {
  Assumptions assumptions;
  assumptions.synchronization = way;
  return assumptions;
}

/// The exchange of 100 weights in fp32 on nodes_of_four().
GradientExchange exchange_of(const Plan& plan, const Assumptions& assumptions) {
  static const Machine machine = nodes_of_four();
  static const Coefficients coefficients;
  const ExchangeTimes times(plan, machine, coefficients, assumptions);
  const Model model = load_model("alexnet");
  const ExchangedBytes each = exchanged_bytes(plan, assumptions, facts_of(model));
  return gradient_exchange(plan, times, each, GradientGroup{family_bit(Axis::data), 100});
}

}  // namespace

TEST_CASE("asynchronous workers have the rate of the closed form, and a slow worker delays only itself") {
  // Four workers at 1 s and one of them at 2 s: 3 + 1/2 batches a second.
  CHECK(lone_workers_step<double>(4, 1, 2) == Approx(4 / 3.5));
  for (const Workers& workers : {Workers{8, 1, 1, 0.2, 0.05}, Workers{8, 1, 2, 0.2, 0.05}, Workers{64, 1, 3, 0.1, 0.001},
                                 Workers{4, 1, 1.5, 0.5, 0.1}, Workers{16, 1, 1, 0.1, 0.2}, Workers{16, 1, 4, 0.1, 0.2},
                                 Workers{3, 1, 10, 0, 0, 0.05}}) {
    const double alone =
        lone_workers_step<double>(workers.count, workers.batch + workers.exchange, workers.slow + workers.exchange);
    const double step = std::max(alone, workers.count * workers.served);
    INFO(workers.count << " workers, slow " << workers.slow << " s, served in " << workers.served << " s");
    const Simulated seen = simulated(workers, 200'000, 1);
    CHECK(step == Approx(seen.step).epsilon(0.02));
    Plan plan;
    plan.mesh.set(Axis::data, workers.count);
    CHECK(mean_staleness(plan, without_barrier(Synchronization::async)) == Approx(seen.staleness).epsilon(0.02));
  }
}

TEST_CASE("in a simulation, workers that may be a step ahead wait for a slow worker, but not for random delays") {
  for (const int ahead : {1, 3, 10}) {
    INFO(ahead);
    CHECK(simulated_stale({.count = 16, .spread = 0.1}, ahead, 20'000, 1) == Approx(1).epsilon(0.02));
    CHECK(simulated_stale({.count = 16, .slow = 1.5, .spread = 0.1}, ahead, 20'000, 1) == Approx(1.5).epsilon(0.02));
  }
  // With a barrier, each step takes the longest of 16 batches: 1.766 standard deviations above the mean [Harter, Biometrika
  // 1961, table of expected values of normal order statistics].
  CHECK(simulated_stale({.count = 16, .spread = 0.1}, 0, 20'000, 1) == Approx(1.1766).epsilon(0.005));
}

TEST_CASE("a worker exchanges with servers or neighbors") {
  // Two messages of 400 B at 2 s + 400 · 10 ms on a rail between nodes that two of four ranks share: φ is part of the link.
  const Plan near = data_parallel(4);
  const GradientExchange async = exchange_of(near, without_barrier(Synchronization::async));
  // Inside a node: push and pull, 2 · (1 + 400 · 0.001); one server receives and sends 4 · 400 B.
  CHECK(async.of_copies.value() == Approx(2.8));
  CHECK(async.at_servers.value() == Approx(3.2));
  CHECK(async.of_gradients.value() == 0);
  Assumptions two = without_barrier(Synchronization::stale);
  two.parameter_servers = 2;
  CHECK(exchange_of(near, two).at_servers.value() == Approx(1.6));
  two.local_steps = 4;  // Downpour pushes and pulls every fourth step
  CHECK(exchange_of(near, two).of_copies.value() == Approx(0.7));
  CHECK(exchange_of(near, two).at_servers.value() == Approx(0.4));
  // Two neighbors of a ring, one after the other, while the worker computes.
  const GradientExchange gossip = exchange_of(near, without_barrier(Synchronization::gossip));
  CHECK(gossip.of_weights.value() == Approx(2.8));
  CHECK(gossip.of_copies.value() == 0);
  CHECK(gossip.algorithm == gossip_exchange);
  Assumptions all = without_barrier(Synchronization::gossip);
  all.neighbors = 100;  // a worker has three others
  CHECK(exchange_of(near, all).of_weights.value() == Approx(4.2));
  CHECK(exchange_of(near, without_barrier(Synchronization::async_gossip)).of_weights.value() == Approx(1.4));
}

TEST_CASE("compute hides the fragments of local steps") {
  const Model model = load_model("alexnet");
  Machine machine = nodes_of_four();
  for (LinkLevel& level : machine.levels) {
    level.latency = Seconds(1e-5);
    level.bandwidth = Bandwidth(1e9);
  }
  const auto step = [&](double fragments, double overlap) {
    Assumptions assumptions;
    assumptions.local_steps = 20;
    assumptions.local_fragments = fragments;
    assumptions.local_overlap = overlap;
    assumptions.host_launch = false;
    assumptions.include_input = false;
    const OwnedJob owned(model, machine, assumptions, 1000);
    Plan plan = data_parallel(16);
    plan.global_batch = 16 * 64;
    return Estimator(owned.job).estimate(plan).time;
  };
  const Breakdown waiting = step(4, 0);
  const double exchange = waiting[Part::gradient_exchange].value();
  const double compute = waiting[Part::forward].value() + waiting[Part::backward].value();
  REQUIRE(exchange > 0);
  for (const double overlap : {0.01, 1.0, 5.0}) {
    INFO(overlap);
    // Each of the 4 fragments runs while the devices compute `overlap` steps, once in 20 steps.
    const double hidden = compute * overlap * 4 / 20;
    CHECK(step(4, overlap)[Part::gradient_exchange].value() == Approx(std::max(0.0, exchange - hidden)).margin(1e-12));
  }
}

TEST_CASE("a straggler delays its own worker, and servers bound the rate") {
  const Model model = load_model("alexnet");
  Machine machine = nodes_of_four();
  for (LinkLevel& level : machine.levels) {
    level.latency = Seconds(1e-5);
    level.bandwidth = Bandwidth(10e9);
  }
  const auto step = [&](Synchronization way, double straggler, double servers = 1e6) {
    Assumptions assumptions = without_barrier(way);
    assumptions.straggler = straggler;
    assumptions.parameter_servers = servers;
    assumptions.host_launch = false;
    assumptions.include_input = false;
    const OwnedJob owned(model, machine, assumptions, 1000);
    Plan plan = data_parallel(16);
    plan.global_batch = 16 * 64;
    const Estimate estimate = Estimator(owned.job).estimate(plan);
    REQUIRE(estimate.feasible());
    return estimate.time;
  };
  const Breakdown usual = step(Synchronization::async, 1), slow = step(Synchronization::async, 2);
  const double t = usual.step_time().value();
  const double kernels = (usual[Part::forward] + usual[Part::backward]).value();
  // Fifteen workers at t and one at t + kernels.
  CHECK(slow.step_time().value() == Approx(16 / (15 / t + 1 / (t + kernels))));
  CHECK(slow[Part::waiting].value() < 0.07 * kernels);
  const Breakdown stale = step(Synchronization::stale, 2);
  CHECK(stale[Part::waiting].value() == Approx(kernels));
  // The same workers, step by step: one computes for t + kernels, and the others may be three steps ahead of it.
  const double simulated_step = simulated_stale({.count = 16, .slow = (t + kernels) / t, .spread = 0.1}, 3, 20'000, 1);
  CHECK(stale.step_time() / step(Synchronization::stale, 1).step_time() == Approx(simulated_step).epsilon(0.02));
  CHECK(step(Synchronization::gossip, 2)[Part::waiting].value() == Approx(kernels));
  CHECK(step(Synchronization::async_gossip, 2)[Part::waiting].value() < 0.07 * kernels);
  // One server moves 2 · 16 · 244 MB in a step at 10 GB/s on its link.
  const double bytes = 4 * static_cast<double>(model.parameters());
  CHECK(step(Synchronization::async, 1, 1).step_time().value() >= 2 * 16 * bytes / 10e9 * (1 - 1e-9));
}

TEST_CASE("workers without a barrier are replicas, and one worker has nothing to wait for") {
  const Assumptions assumptions = without_barrier(Synchronization::async);
  const Model model = load_model("alexnet");
  const ModelFacts facts = facts_of(model);
  const Software software;
  Plan plan = data_parallel(8);
  CHECK(limits_of({facts, plan, software, &assumptions}).empty());
  plan.zero_stage = 1;
  CHECK(limits_of({facts, plan, software, &assumptions}).begin()->kind == Limit::Kind::synchronization);
  plan.zero_stage = 0;
  plan.mesh.set(Axis::data, 1);
  CHECK(synchronization_of(plan, assumptions) == Synchronization::sync);
  CHECK(mean_staleness(plan, assumptions) == 0);
  // Weights of a neighbor are in memory; a push without local steps has no sum.
  plan.mesh.set(Axis::data, 8);
  CHECK(exchange_state_bytes(plan, assumptions, 4) == 0);
  CHECK(exchange_state_bytes(plan, without_barrier(Synchronization::gossip), 4) == 4);
}

TEST_CASE("a prescribed allreduce excludes ZeRO, which has none") {
  Assumptions assumptions;
  assumptions.allreduce = AllreduceAlgorithm::parameter_server;
  const Model model = load_model("alexnet");
  const ModelFacts facts = facts_of(model);
  const Software software;
  Plan plan = data_parallel(8);
  CHECK(limits_of({facts, plan, software, &assumptions}).empty());
  for (const int stage : {1, 2, 3}) {
    plan.zero_stage = stage;
    CHECK(limits_of({facts, plan, software, &assumptions}).begin()->kind == Limit::Kind::allreduce);
  }
  plan.mesh.set(Axis::data, 1);
  CHECK(limits_of({facts, plan, software, &assumptions}).empty());
  CHECK(limits_zero(assumptions, facts));
}

}  // namespace workers_tests
