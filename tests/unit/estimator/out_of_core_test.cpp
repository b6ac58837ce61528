// Tests groups of layers whose activations are kept, offloaded to host memory, or recomputed.

#include "estimator/out_of_core/out_of_core.hpp"

#include <limits>
#include <random>
#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

// Other test files have functions with the same names.
namespace ddl::out_of_core_test {
namespace {

using Choices = std::vector<GroupChoice>;

constexpr GroupChoice keep = GroupChoice::keep, swap = GroupChoice::swap, recompute = GroupChoice::recompute,
                      both = GroupChoice::both;

/// Returns three groups of 1 s in forward, 2 s in backward and 10 bytes, of which 4 are the output
/// of the previous group. Each group adds its kept bytes to a level of 100 bytes.
Chain three(double bandwidth) {
  Chain chain;
  chain.link = Bandwidth(bandwidth);
  chain.elsewhere = Bytes(100);
  for (int i = 0; i < 3; ++i) {
    ChainGroup group;
    group.forward = Seconds(1);
    group.backward = Seconds(2);
    group.kept = Bytes(10);
    group.input = Bytes(i == 0 ? 0 : 4);
    group.forward_peak = Bytes(100 + 10 * (i + 1));
    group.backward_peak = group.again_peak = Bytes(100 + 10 * (i + 1) + 3);
    chain.groups.push_back(group);
  }
  return chain;
}

/// Returns groups of random times and sizes, with levels as in a step.
Chain random_chain(std::mt19937& random, int groups) {
  const auto below = [&random](int end) { return static_cast<double>(random() % static_cast<unsigned>(end)); };
  Chain chain;
  chain.link = Bandwidth(1 + below(8));
  double level = 50;
  for (int i = 0; i < groups; ++i) {
    ChainGroup group;
    group.forward = Seconds(1 + below(5));
    group.backward = Seconds(1 + below(9));
    group.kept = Bytes(below(20));
    group.input = Bytes(i == 0 ? 0.0 : below(static_cast<int>(group.kept.value()) + 1));
    if (group.input == Bytes{} && i > 0) group.extra_input = Bytes(below(4));
    level += group.kept.value();
    group.forward_peak = Bytes(level + below(6));
    group.backward_peak = Bytes(level + below(12));
    group.again_peak = Bytes(level + below(12));
    group.may_recompute = below(5) > 0;
    chain.groups.push_back(group);
  }
  chain.elsewhere = Bytes(40 + below(20));
  return chain;
}

bool is_possible(const Chain& chain, const Choices& choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool again = choices[i] == recompute || choices[i] == both;
    if (again && !chain.groups[i].may_recompute) return false;
    if ((choices[i] == swap || choices[i] == both) && chain.groups[i].moved(choices[i]) == Bytes{}) return false;
  }
  return true;
}

/// Calls `take` with all choices for this many groups.
template <class Take>
void each_choices(std::size_t groups, const Take& take) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < groups; ++i) count *= enum_values<GroupChoice>.size();
  for (std::size_t number = 0; number < count; ++number) {
    Choices choices;
    for (std::size_t rest = number, i = 0; i < groups; ++i, rest /= enum_values<GroupChoice>.size())
      choices.push_back(enum_values<GroupChoice>[rest % enum_values<GroupChoice>.size()]);
    take(choices);
  }
}

Chain with_link(Chain chain, double bandwidth) {
  chain.link = Bandwidth(bandwidth);
  return chain;
}

TEST_CASE("a schedule of three groups, by hand") {
  const Choices all_keep{keep, keep, keep};
  CHECK(cost_of(three(1), all_keep).time.value() == 9);
  CHECK(cost_of(three(1), all_keep).peak.value() == 133);
  {
    // The 10 bytes of the first group leave from 1 s to 6 s, while the second group runs until 2 s. The third group waits
    // until 6 s and ends at 7 s. Its backward ends at 9 s, when the backward of the second group begins. The bytes of the
    // first group come back until 14 s. Its backward, which could otherwise begin at 11 s, ends at 16 s.
    const ChainCost cost = cost_of(three(2), {swap, keep, keep});
    CHECK(cost.time.value() == 16);
    CHECK(cost.waits.value() == 4 + 3);
    CHECK(cost.again.value() == 0);
    CHECK(cost.on_host.value() == 10);
    CHECK(cost.peak.value() == 123);
  }
  {
    const ChainCost cost = cost_of(three(2), {keep, recompute, keep});
    CHECK(cost.time.value() == 10);
    CHECK(cost.again.value() == 1);
    CHECK(cost.on_host.value() == 0);
    CHECK(cost.peak.value() == 133 - 6);
  }
  {
    // Four bytes of the second group leave from 2 s to 4 s. They come back from 4 s, when the first copy has left, to 6 s.
    // The second group's backward, with its recomputation, runs from 6 s to 9 s.
    const ChainCost cost = cost_of(three(2), {keep, both, keep});
    CHECK(cost.time.value() == 11);
    CHECK(cost.waits.value() == 1);
    CHECK(cost.on_host.value() == 4);
    CHECK(cost.peak.value() == 133 - 6);
  }
}

TEST_CASE("the choices are the best of all choices") {
  std::mt19937 random(1);
  int fitted = 0, moved = 0, again = 0;
  for (int run = 0; run < 120; ++run) {
    const Chain chain = random_chain(random, 1 + run % 5);
    const Choices all_keep(chain.groups.size(), keep);
    const double most = cost_of(chain, all_keep).peak.value();
    for (const double share : {1.0, 0.97, 0.9, 0.8, 0.7, 0.6}) {
      const Bytes capacity(most * share);
      double best = std::numeric_limits<double>::infinity();
      each_choices(chain.groups.size(), [&](const Choices& choices) {
        if (!is_possible(chain, choices)) return;
        const ChainCost cost = cost_of(chain, choices);
        if (cost.peak <= capacity) best = std::min(best, cost.time.value());
      });
      const Choices chosen = shortest_choices(chain, capacity);
      const ChainCost cost = cost_of(chain, chosen);
      INFO("run " << run << ", " << share);
      REQUIRE(is_possible(chain, chosen));
      if (std::isinf(best)) {
        CHECK(cost.peak > capacity);
        continue;
      }
      ++fitted;
      for (const GroupChoice choice : chosen) {
        moved += choice == swap || choice == both ? 1 : 0;
        again += choice == recompute || choice == both ? 1 : 0;
      }
      CHECK(cost.peak <= capacity);
      CHECK(cost.time.value() == Approx(best));
      // No group without a benefit gives up activations that it could keep.
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        Choices more = chosen;
        more[i] = keep;
        const ChainCost kept = cost_of(chain, more);
        CHECK((chosen[i] == keep || kept.peak > capacity || kept.time > cost.time));
      }
    }
  }
  // The loop met cases in which several choices fit.
  CHECK(fitted > 200);
  CHECK(moved > 20);
  CHECK(again > 20);
}

TEST_CASE("an infinitely fast link hides every copy, and a faster link never makes a step longer") {
  std::mt19937 random(2);
  for (int run = 0; run < 40; ++run) {
    const Chain chain = random_chain(random, 4);
    const Choices all_keep(4, keep);
    const ChainCost in_core = cost_of(chain, all_keep);
    each_choices(4, [&](const Choices& choices) {
      const ChainCost at_once = cost_of(with_link(chain, 1e30), choices);
      CHECK((at_once.time - at_once.again).value() == Approx(in_core.time.value()));
      double before = std::numeric_limits<double>::infinity();
      for (const double bandwidth : {0.5, 1.0, 2.0, 4.0, 1e3}) {
        const double time = cost_of(with_link(chain, bandwidth), choices).time.value();
        CHECK(time <= before);
        CHECK(time >= at_once.time.value() * (1 - 1e-12));
        before = time;
      }
    });
    double before = std::numeric_limits<double>::infinity();
    const Bytes capacity(in_core.peak.value() * 0.85);
    for (const double bandwidth : {0.5, 1.0, 2.0, 4.0, 1e3}) {
      const ChainCost cost = cost_of(chain, shortest_choices(with_link(chain, bandwidth), capacity));
      if (cost.peak > capacity) continue;
      const double time =
          cost_of(with_link(chain, bandwidth), shortest_choices(with_link(chain, bandwidth), capacity)).time.value();
      CHECK(time <= before * (1 + 1e-12));
      before = time;
    }
  }
}

TEST_CASE("nothing is offloaded if memory suffices, and less memory never makes a step shorter or larger") {
  std::mt19937 random(3);
  for (int run = 0; run < 40; ++run) {
    const Chain chain = random_chain(random, 6);
    const Choices all_keep(6, keep);
    const ChainCost in_core = cost_of(chain, all_keep);
    CHECK(cost_of(chain, shortest_choices(chain, in_core.peak)).time.value() == Approx(in_core.time.value()));
    double before = 0;
    for (const double share : {1.0, 0.95, 0.9, 0.8, 0.7}) {
      const Bytes capacity(in_core.peak.value() * share);
      const ChainCost cost = cost_of(chain, shortest_choices(chain, capacity));
      CHECK(cost.peak <= in_core.peak);
      if (cost.peak > capacity) continue;
      CHECK(cost.time.value() >= before * (1 - 1e-12));
      before = cost.time.value();
    }
  }
}

TEST_CASE("the choices for many groups fit, and their time is between keeping everything and uniform choices") {
  std::mt19937 random(4);
  const Chain chain = random_chain(random, 40);
  const ChainCost in_core = cost_of(chain, Choices(40, keep));
  const Bytes capacity(in_core.peak.value() * 0.6);
  const ChainCost cost = cost_of(chain, shortest_choices(chain, capacity));
  CHECK(cost.peak <= capacity);
  CHECK(cost.time >= in_core.time);
  Choices moved(40, keep);
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = chain.groups[i].kept > Bytes{} ? swap : keep;
  const ChainCost uniform = cost_of(chain, moved);
  REQUIRE(uniform.peak <= capacity);
  CHECK(cost.time <= uniform.time);
}

Machine with_host(double memory, double bandwidth) {
  Machine machine = nodes_of_four();
  machine.device.memory = Bytes(memory);
  machine.host = HostPath{Bandwidth(bandwidth), 1, Seconds(0), Bandwidth(1e11)};
  return machine;
}

Plan plan_of(double batch) {
  Plan plan;
  plan.global_batch = static_cast<std::int64_t>(batch);
  plan.optimizer = Optimizer::momentum;
  return plan;
}

OutOfCore taken(const OwnedJob& owned, const Plan& plan) {
  const Estimate estimate = Estimator(owned.job).estimate(plan);
  return out_of_core(owned.job, plan, estimate.memory);
}

TEST_CASE("if everything is kept in device memory, the chain of a network needs the memory of its estimate") {
  for (const char* name : {"resnet50", "vgg16", "unet3d", "densenet121", "inception_v3", "gpt2"}) {
    INFO(name);
    const OwnedJob owned(load_model(name), with_host(1e12, 1e10), {}, 1000);
    const Plan plan = plan_of(4);
    const Estimate estimate = Estimator(owned.job).estimate(plan);
    const OutOfCore result = out_of_core(owned.job, plan, estimate.memory);
    CHECK(result.in_core.peak.value() == Approx(estimate.memory.allocated().value()));
    CHECK(result.memory == estimate.memory.total());
    CHECK(result.longer().value() == 0);
    CHECK(result.fits());
    // Activations that wait for backward exist at the end of forward, in addition to weights and state.
    const Bytes there = result.chain.groups.back().forward_peak - estimate.memory.weights - estimate.memory.optimizer;
    Bytes kept{};
    for (const ChainGroup& group : result.chain.groups) {
      CHECK(group.kept >= group.input);
      kept += group.kept;
    }
    CHECK(kept <= there);
    CHECK(kept > there * 0.5);
  }
}

TEST_CASE("a network that is too large fits out of core, and a faster link makes its step shorter") {
  for (const char* name : {"resnet50", "vgg16", "unet3d"}) {
    INFO(name);
    const Plan plan = plan_of(64);
    const OwnedJob ample(load_model(name), with_host(1e14, 1e10), {}, 1000);
    const MemoryBreakdown in_core = Estimator(ample.job).estimate(plan).memory;
    const double memory = in_core.upper_bound().value() - 0.15 * in_core.activations.value();
    Seconds before(std::numeric_limits<double>::infinity());
    for (const double bandwidth : {1e9, 1e10, 1e11, 1e20}) {
      const OwnedJob owned(load_model(name), with_host(memory, bandwidth), {}, 1000);
      const OutOfCore result = taken(owned, plan);
      CHECK(result.fits());
      CHECK(result.memory < in_core.total());
      CHECK(result.longer() >= Seconds{});
      CHECK(result.longer() <= before * (1 + 1e-9));
      before = result.longer();
    }
    CHECK(before.value() == Approx(0).margin(1e-9));
    // Without a host, activations that do not fit are recomputed.
    Machine alone = with_host(memory, 1e10);
    alone.host.reset();
    const OutOfCore result = taken(OwnedJob(load_model(name), alone, {}, 1000), plan);
    CHECK(result.cost.on_host == Bytes{});
    CHECK(result.cost.waits.value() == Approx(0).margin(1e-9 * result.cost.time.value()));
    CHECK(result.cost.again > Seconds{});
    CHECK(result.fits());
  }
}

TEST_CASE("offloaded activations have to fit the memory of the node") {
  const Plan plan = plan_of(64);
  const OwnedJob ample(load_model("resnet50"), with_host(1e14, 1e20), {}, 1000);
  const MemoryBreakdown in_core = Estimator(ample.job).estimate(plan).memory;
  Machine machine = with_host(in_core.upper_bound().value() - 0.15 * in_core.activations.value(), 1e20);
  const OutOfCore result = taken(OwnedJob(load_model("resnet50"), machine, {}, 1000), plan);
  REQUIRE(result.fits());
  REQUIRE(result.cost.on_host > Bytes{});
  CHECK(result.on_node == result.cost.on_host);
  machine.storage.host_memory = result.on_node * 0.9;
  CHECK_FALSE(taken(OwnedJob(load_model("resnet50"), machine, {}, 1000), plan).fits());
  machine.storage.host_memory = result.on_node;
  CHECK(taken(OwnedJob(load_model("resnet50"), machine, {}, 1000), plan).fits());
}

TEST_CASE("plans with stages, recomputation or offloading of all activations have no choices for layer groups") {
  Plan plan = plan_of(4);
  CHECK(may_be_out_of_core(plan, {}));
  plan.recompute = Recompute::full;
  CHECK_FALSE(may_be_out_of_core(plan, {}));
  plan.recompute = Recompute::none;
  plan.offload_activations = true;
  CHECK_FALSE(may_be_out_of_core(plan, {}));
  plan.offload_activations = false;
  plan.mesh.set(Axis::pipeline, 2);
  CHECK_FALSE(may_be_out_of_core(plan, {}));
  CHECK_FALSE(may_be_out_of_core(plan_of(4), ideal_assumptions()));
}

}  // namespace
}  // namespace ddl::out_of_core_test
