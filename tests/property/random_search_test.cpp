// Compares the search with estimating every plan, and checks common properties of plans, for random
// models on random machines. DDL_RANDOM_SEED and DDL_RANDOM_COUNT select other cases and more
// cases. A failure prints the seed that reproduces it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "estimator/search/search.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/property/random_plans.hpp"

namespace random_search_tests {

namespace {

using namespace ddl;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

double between(Random& random, double least, double most) {
  return least * std::pow(most / least, random.whole(0, 1000) / 1000.0);
}

/// Returns a few convolutions and matrix products of random sizes.
Model random_model(Random& random) {
  std::string text = fmt::format("format: 1\nmodel: random\ninput: {{channels: {}, size: {}x{}}}\nlayers:\n",
                                 random.whole(1, 24), 8 * random.whole(1, 4), 8 * random.whole(1, 4));
  for (int i = random.whole(1, 4); i > 0; --i) {
    text += fmt::format("  - convolution: {{filters: {}, kernel: {}, padding: same, bias: {}}}\n", 4 * random.whole(1, 24),
                        random.of(std::vector{1, 3, 5}), random.chance() ? "yes" : "no");
    if (random.chance()) text += "  - norm: batch\n";
    if (random.chance()) text += "  - activation: relu\n";
  }
  if (random.chance()) text += "  - pool: {kind: max, kernel: 2, stride: 2}\n";
  text += "  - flatten\n";
  for (int i = random.whole(0, 2); i > 0; --i) {
    text += fmt::format("  - fully_connected: {}\n  - activation: relu\n", 8 * random.whole(1, 200));
  }
  text += fmt::format("  - fully_connected: {}\n  - loss: cross_entropy\n", random.whole(2, 100));
  return parse_model(text, "random.yaml");
}

Machine random_machine(Random& random) {
  Machine machine = random.chance() ? three_levels() : slow_links();
  for (std::optional<FlopRate>& peak : machine.device.peak) {
    if (peak) peak = FlopRate(between(random, 1e11, 1e15));
  }
  machine.device.memory_bandwidth = Bandwidth(between(random, 1e10, 5e12));
  machine.device.tile = random.of(std::vector{1.0, 8.0, 16.0, 64.0});
  for (LinkLevel& level : machine.levels) {
    level.latency = Seconds(between(random, 1e-7, 1e-3));
    level.bandwidth = Bandwidth(between(random, 1e8, 1e12));
    level.rails = random.of(std::vector{1.0, 2.0, 4.0});
  }
  return machine;
}

/// Calls `check` with a separate generator for each case, so that any of them can be reproduced alone.
template <class Check>
void for_random_cases(std::uint64_t count, const Check& check) {
  const std::uint64_t first = number_from("DDL_RANDOM_SEED", 1);
  for (std::uint64_t seed = first; seed < first + number_from("DDL_RANDOM_COUNT", count); ++seed) {
    INFO("DDL_RANDOM_SEED=" << seed << " DDL_RANDOM_COUNT=1");
    Random random(seed);
    check(random);
  }
}

std::vector<double> ranks_of(const RankedPlan& plan, Objective objective) {
  const double time = plan.step_time.value(), memory = plan.memory.value();
  return objective == Objective::memory ? std::vector{memory, time} : std::vector{time};
}

TEST_CASE("on random machines the search gives the same answer as estimating every plan") {
  for_random_cases(6, [](Random& random) {
    Machine machine = random_machine(random);
    const Model model = random_model(random);
    SearchOptions options;
    options.devices = random.of(std::vector{1, 2, 3, 4, 6, 8, 12});
    options.global_batch = options.devices * random.whole(1, 6);
    options.optimizer = random.of(std::vector{Optimizer::sgd, Optimizer::momentum, Optimizer::adam});
    options.objective = random.of(std::vector{Objective::time, Objective::time, Objective::cost, Objective::memory});
    options.allow_risk = random.chance();
    const auto ask = [&](bool all) {
      const OwnedJob owned(model, machine, Assumptions{}, 1e4, std::nullopt, options.precision, options.optimizer);
      options.all = all;
      return search(Estimator(owned.job), options);
    };
    SearchResult every = ask(true);
    if (!every.ranked.empty() && random.chance()) {
      std::vector<double> needs;
      for (const RankedPlan& plan : every.ranked) needs.push_back(plan.memory.value());
      std::sort(needs.begin(), needs.end());
      machine.device.memory = Bytes(needs[needs.size() / 2]);
      every = ask(true);
    }
    const SearchResult found = ask(false);
    INFO(fmt::format("{} devices, B = {}, {}, {} plans", options.devices, options.global_batch, to_string(options.objective),
                     every.considered));
    REQUIRE(found.considered == every.considered);
    REQUIRE(found.best.empty() == every.ranked.empty());
    if (every.ranked.empty()) return;
    const RankedPlan& first = every.ranked.front();
    const Estimate& best = found.best.front();
    INFO("found " << text_of(best.plan) << ", first of all " << text_of(first.plan));
    const std::vector<double> wanted = ranks_of(first, options.objective);
    const std::vector<double> got =
        ranks_of({best.plan, best.time.step_time(), best.memory.total(), best.verdict}, options.objective);
    for (std::size_t i = 0; i < wanted.size(); ++i) REQUIRE(got[i] == Approx(wanted[i]).epsilon(1e-9));
    REQUIRE(best.plan == first.plan);
  });
}

TEST_CASE("on random machines the parts of plans add up, and faster links and larger memories do no harm") {
  for_random_cases(40, [](Random& random) {
    const Machine machine = random_machine(random);
    const Model model = random_model(random);
    const auto price = [&](const Machine& on, const Plan& plan) {
      const OwnedJob owned(model, on, Assumptions{}, 1e4);
      return Estimator(owned.job).estimate(plan);
    };
    const Plan plan = random_plan(random, random.of(std::vector{1, 2, 4, 6, 8, 12, 16, 24}), true);
    INFO(text_of(plan));
    const OwnedJob owned(model, machine, Assumptions{}, 1e4);
    if (!Estimator(owned.job).limits(plan).empty()) return;
    const Estimate estimate = price(machine, plan);
    double sum = 0;
    for (const Seconds part : parts_of(estimate.time)) {
      REQUIRE(std::isfinite(part.value()));
      REQUIRE(part.value() >= 0);
      sum += part.value();
    }
    REQUIRE(estimate.time.step_time().value() == Approx(sum).epsilon(1e-12));
    REQUIRE(std::isfinite(estimate.memory.total().value()));
    for (std::size_t level = 0; level < machine.levels.size(); ++level) {
      Machine faster = machine;
      faster.levels[level].bandwidth *= 1.9;
      REQUIRE(price(faster, plan).time.step_time() <= estimate.time.step_time() * rounding);
    }
    Machine roomier = machine;
    roomier.device.memory *= 2.0;
    const Estimate in_more = price(roomier, plan);
    REQUIRE(in_more.time.step_time() == estimate.time.step_time());
    REQUIRE(in_more.memory.total() == estimate.memory.total());
    REQUIRE(static_cast<int>(in_more.verdict) <= static_cast<int>(estimate.verdict));
    if (plan.mesh[Axis::pipeline] == 1) {
      Machine stronger = machine;
      for (std::optional<FlopRate>& peak : stronger.device.peak) {
        if (peak) *peak *= 1.9;
      }
      REQUIRE(price(stronger, plan).time.step_time() <= estimate.time.step_time() * rounding);
    }
    // The position of axes with one rank does not matter.
    Plan moved = plan;
    std::stable_partition(moved.placement.begin(), moved.placement.end(), [&](Axis axis) { return plan.mesh[axis] > 1; });
    REQUIRE(price(machine, moved).time.step_time() == estimate.time.step_time());
    Plan serial;
    serial.global_batch = plan.global_batch;
    const Estimate alone = price(machine, serial);
    REQUIRE(alone.time.step_time() == alone.time.compute());
  });
}

}  // namespace

}  // namespace random_search_tests
