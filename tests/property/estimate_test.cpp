#include "estimator/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/coefficients_reader.hpp"
#include "calibration/machine_reader.hpp"
#include "estimator/explanation.hpp"
#include "estimator/group.hpp"
#include "estimator/search.hpp"
#include "estimator/shard_problems.hpp"
#include "estimator/topology/network.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"

namespace {

using namespace ddl;

/// Times that are sums of the same parts in another order.
constexpr double rounding = 1 + 1e-12;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int whole(int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine_); }
  bool chance() { return whole(0, 1) == 1; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(whole(0, static_cast<int>(values.size()) - 1))];
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

Model residual_images() {
  return parse_model(R"(format: 1
model: residual-images
input: {channels: 3, size: 32x32}
blocks:
  basic:
    parameters: {filters: , stride: 1}
    checkpoint: yes
    layers:
      - residual:
          body:
            - convolution: {filters: $filters, kernel: 3, stride: $stride, padding: 1, bias: no}
            - norm: batch
            - activation: relu
            - convolution: {filters: $filters, kernel: 3, padding: 1, bias: no}
            - norm: batch
          shortcut:
            - convolution: {filters: $filters, kernel: 1, stride: $stride, bias: no}
              when: $stride != 1 or $channels != $filters
      - activation: relu
layers:
  - convolution: {filters: 24, kernel: 3, padding: same, bias: no}
  - activation: relu
  - block: {use: basic, filters: 24}
  - block: {use: basic, filters: 48, stride: 2}
  - block: {use: basic, filters: 96, stride: 2}
  - pool: {kind: average, global: yes}
  - flatten
  - fully_connected: 10
  - loss: cross_entropy
)",
                     "residual.yaml");
}

Model volumes() {
  return parse_model(R"(format: 1
model: volumes
input: {channels: 4, size: 16x16x16}
layers:
  - convolution: {filters: 16, kernel: 3, padding: same}
  - activation: relu
  - pool: {kind: max, kernel: 2, stride: 2}
  - convolution: {filters: 32, kernel: 3, padding: same}
  - activation: relu
  - pool: {kind: max, kernel: 2, stride: 2}
  - flatten
  - fully_connected: 64
  - activation: relu
  - fully_connected: 4
  - loss: mse
)",
                     "volumes.yaml");
}

Model tokens() {
  return parse_model(R"(format: 1
model: tokens
family: gpt
parameters: {layers: 4, hidden: 96, heads: 12, vocabulary: 1000, tokens: 64}
)",
                     "tokens.yaml");
}

Model perceptron() {
  return parse_model(R"(format: 1
model: perceptron
input: {features: 200}
layers:
  - fully_connected: 3000
  - activation: relu
  - fully_connected: 700
  - activation: relu
  - fully_connected: 1200
  - activation: relu
  - fully_connected: 10
  - loss: cross_entropy
)",
                     "perceptron.yaml");
}

/// Two layers read the batch, which has no gradient to exchange, and a window is longer than wide.
Model two_readers() {
  return parse_model(R"(format: 1
model: two-readers
input: {channels: 32, size: 16x16}
layers:
  - convolution: {filters: 32, kernel: 1, bias: no}
    name: a
  - convolution: {filters: 32, kernel: 1x5, padding: 0x2, bias: no}
    name: b
    from: input
  - add:
    from: [a, b]
  - pool: {kind: average, global: yes}
  - flatten
  - fully_connected: 64
  - loss: cross_entropy
)",
                     "two-readers.yaml");
}

/// Down and up again with what U-shaped and mobile networks have beside convolutions.
Model u_shaped() {
  return parse_model(R"(format: 1
model: u-shaped
input: {channels: 8, size: 24x16}
layers:
  - convolution: {filters: 16, kernel: 3, padding: 1, bias: no}
  - norm: instance
  - activation: leaky_relu
    name: top
  - convolution: {filters: 32, kernel: 3, stride: 2, padding: 1}
  - norm: {kind: group, groups: 8}
  - multiply:
      branches:
        - []
        - - pool: {kind: average, global: yes}
          - convolution: {filters: 4, kernel: 1}
          - activation: relu
          - convolution: {filters: 32, kernel: 1}
          - activation: sigmoid
  - scale: trained
    name: bottom
  - pool: {kind: average, adaptive: 2x2}
    auxiliary: yes
  - flatten:
    auxiliary: yes
  - fully_connected: 10
    name: helper
    auxiliary: yes
  - transposed_convolution: {filters: 16, kernel: 4, stride: 2, padding: 1}
    name: up
    from: bottom
  - concat:
    from: [up, top]
  - channel_shuffle: 2
  - slice: {first: 8, channels: 16}
  - resize: {kind: linear, factor: 2}
  - dropout: {rate: 0.1, of: samples}
  - crop: 40x24
  - convolution: {filters: 12, kernel: 1}
    name: labels
  - loss: cross_entropy
    from: [labels, helper]
)",
                     "u-shaped.yaml");
}

std::vector<Model> some_models() {
  std::vector<Model> models;
  models.push_back(u_shaped());
  models.push_back(two_readers());
  models.push_back(residual_images());
  models.push_back(volumes());
  models.push_back(tokens());
  models.push_back(perceptron());
  return models;
}

/// Nodes of four with two NICs, three nodes under a leaf, an over-subscribed spine above.
Machine three_levels() {
  Machine machine;
  machine.name = "three-levels";
  machine.device.name = "device";
  machine.device.peak = {FlopRate(10e12), std::nullopt, FlopRate(40e12), std::nullopt};
  machine.device.memory = Bytes(1e12);
  machine.device.memory_bandwidth = Bandwidth(500e9);
  machine.device.tile = 16;
  machine.device.attainable_peak = 0.8;
  machine.device.attainable_bandwidth = 0.9;
  machine.levels.push_back({"node", 4, Seconds(3e-6), Bandwidth(50e9), 2});
  machine.levels.push_back({"leaf", 3, Seconds(8e-6), Bandwidth(12e9), 2});
  machine.levels.push_back({"spine", 8, Seconds(10e-6), Bandwidth(12e9), 1.5});
  machine.host = HostPath{Bandwidth(12e9), 2, Seconds(50e-6)};
  return machine;
}

/// One node of eight beside others, a tile of one, and links slow enough to matter.
Machine slow_links() {
  Machine machine = three_levels();
  machine.name = "slow-links";
  machine.device.tile = 1;
  machine.levels.clear();
  machine.levels.push_back({"node", 8, Seconds(20e-6), Bandwidth(2e9), 1});
  machine.levels.push_back({"system", 16, Seconds(60e-6), Bandwidth(0.5e9), 1});
  machine.host.reset();
  return machine;
}

/// The measured software of ABCI: layer-wise exchanges through the host, fixed algorithms, no overlap.
Coefficients abci_coefficients() { return bundled_coefficients("abci").value(); }

/// Any plan of these devices that the shape of a model might allow.
Plan random_plan(Random& random, int devices, bool extents) {
  Plan plan;
  const auto take = [&](int& degree) {
    std::vector<int> divisors;
    for (int d = 1; d <= devices; ++d) {
      if (devices % d == 0) divisors.push_back(d);
    }
    degree = random.of(divisors);
    devices /= degree;
  };
  if (extents && random.chance()) take(plan.spatial[0]);
  if (extents && random.chance()) take(plan.spatial[1]);
  if (random.chance()) take(plan.layer);
  if (random.chance()) {
    take(plan.tensor);
  } else {
    if (random.chance()) take(plan.filter);
    if (random.chance()) take(plan.channel);
  }
  plan.data = devices;
  plan.micro_batches = random.of(std::vector<std::int64_t>{1, 2, 3, 4, 8});
  plan.global_batch = plan.data * plan.micro_batches * random.whole(1, 4);
  plan.zero_stage = random.whole(0, 3);
  plan.recompute = random.chance() ? Recompute::full : Recompute::none;
  plan.schedule = random.chance() ? Schedule::gpipe : Schedule::one_forward_one_backward;
  plan.optimizer = random.of(std::vector{Optimizer::sgd, Optimizer::momentum, Optimizer::adam});
  std::shuffle(plan.placement.begin(), plan.placement.end(), random.engine());
  return plan;
}

std::string text_of(const Plan& plan) {
  return fmt::format("{} ({}), B = {}, S = {}, {}, ZeRO-{}, recompute {}, {}", degrees_text(plan), placement_text(plan),
                     plan.global_batch, plan.micro_batches, to_string(plan.schedule), plan.zero_stage,
                     to_string(plan.recompute), to_string(plan.optimizer));
}

std::vector<Seconds> parts_of(const Breakdown& time) {
  return {time.forward,
          time.backward,
          time.weight_update,
          time.gradient_exchange,
          time.layer_collectives,
          time.halo,
          time.pipeline,
          time.bubble,
          time.input,
          time.waiting};
}

/// Calls `check(job, plan)` with feasible plans of every model on every machine.
template <class Check>
void for_random_plans(std::uint64_t seed, int plans, const Check& check) {
  Random random(seed);
  for (const Model& model : some_models()) {
    for (const Machine& machine : {three_levels(), slow_links()}) {
      const OwnedJob owned(model, machine, Assumptions{}, 54321.0);
      const Estimator estimator(owned.job);
      for (int i = 0; i < plans; ++i) {
        const Plan plan = random_plan(random, random.of(std::vector{1, 2, 4, 6, 8, 12, 16, 24, 36, 48, 96}),
                                      !model.input.sequence && model.input.rank > 0);
        if (!estimator.limits(plan).empty()) continue;
        INFO(model.name << " on " << machine.name << ": " << text_of(plan));
        check(owned, plan);
      }
    }
  }
}

TEST_CASE("the parts of every breakdown are no less than zero and add up to the iteration, D/B of which are an epoch") {
  int priced = 0;
  for_random_plans(1, 400, [&](const OwnedJob& owned, const Plan& plan) {
    const Estimate estimate = Estimator(owned.job).estimate(plan);
    ++priced;
    double sum = 0;
    for (const Seconds part : parts_of(estimate.time)) {
      REQUIRE(std::isfinite(part.value()));
      REQUIRE(part.value() >= 0);
      sum += part.value();
    }
    REQUIRE(sum > 0);
    REQUIRE(estimate.time.iteration().value() == Approx(sum).epsilon(1e-12));
    REQUIRE(estimate.epoch.value() == Approx(sum * 54321.0 / static_cast<double>(plan.global_batch)).epsilon(1e-12));
    for (const Bytes part :
         {estimate.memory.weights, estimate.memory.gradients, estimate.memory.optimizer, estimate.memory.activations}) {
      REQUIRE(std::isfinite(part.value()));
      REQUIRE(part.value() >= 0);
    }
    for (const double number : {estimate.efficiency, estimate.replicated_share, estimate.imbalance,
                                estimate.hidden_exchange.value(), estimate.hidden_input.value()}) {
      REQUIRE(std::isfinite(number));
      REQUIRE(number >= -1e-12);
    }
  });
  REQUIRE(priced > 500);
}

TEST_CASE("on one device every strategy, placement, schedule and ZeRO stage is serial") {
  Random random(2);
  for (const Model& model : some_models()) {
    const OwnedJob owned(model, three_levels(), Assumptions{}, 1000.0);
    const Estimator estimator(owned.job);
    Plan serial;
    serial.global_batch = 12;
    const Estimate expected = estimator.estimate(serial);
    // Serial is all kernels at the batch of 12 and the update, nothing else.
    REQUIRE(expected.time.iteration() == expected.time.compute());
    for (int i = 0; i < 50; ++i) {
      Plan plan = serial;
      plan.zero_stage = random.whole(0, 3);
      plan.schedule = random.chance() ? Schedule::gpipe : Schedule::one_forward_one_backward;
      std::shuffle(plan.placement.begin(), plan.placement.end(), random.engine());
      INFO(model.name << ": " << text_of(plan));
      const Estimate estimate = estimator.estimate(plan);
      REQUIRE(family_of(plan) == 0);
      REQUIRE(estimate.feasible());
      REQUIRE(estimate.time.iteration() == expected.time.iteration());
      REQUIRE(estimate.memory.total() == expected.memory.total());
    }
  }
}

Seconds iteration_of(const OwnedJob& owned, const Plan& plan, const Machine& machine) {
  const OwnedJob other(owned.model, machine, owned.assumptions, owned.job.samples_per_epoch);
  const Estimate estimate = Estimator(other.job).estimate(plan);
  return estimate.time.iteration();
}

TEST_CASE("no plan takes longer for a faster link or a shorter start-up") {
  for_random_plans(3, 60, [&](const OwnedJob& owned, const Plan& plan) {
    const Seconds before = iteration_of(owned, plan, owned.machine);
    for (std::size_t level = 0; level < owned.machine.levels.size(); ++level) {
      Machine faster = owned.machine;
      faster.levels[level].bandwidth *= 1.7;
      REQUIRE(iteration_of(owned, plan, faster) <= before * rounding);
      Machine prompter = owned.machine;
      prompter.levels[level].latency *= 0.3;
      REQUIRE(iteration_of(owned, plan, prompter) <= before * rounding);
      Machine wider = owned.machine;
      wider.levels[level].rails *= 2;
      REQUIRE(iteration_of(owned, plan, wider) <= before * rounding);
    }
  });
}

TEST_CASE("what kernels and gradients do to each other lengthens plans, and none beyond doing one after the other") {
  const std::vector<double> factors{1, 1.2, 1.9, 2, 5};
  int lengthened = 0;
  for_random_plans(11, 60, [&](const OwnedJob& owned, const Plan& plan) {
    const auto estimate = [&](double kernels, double exchange, std::optional<bool> overlaps, bool assumed = true) {
      Assumptions assumptions = owned.assumptions;
      assumptions.overlap = assumed;
      Coefficients coefficients;
      coefficients.overlap = {.kernels = kernels, .exchange = exchange};
      coefficients.software.overlaps_gradients = overlaps;
      const OwnedJob other(owned.model, owned.machine, assumptions, owned.job.samples_per_epoch, std::nullopt,
                           Precision::fp32, Optimizer::momentum, coefficients);
      return Estimator(other.job).estimate(plan);
    };
    const Seconds plain = Estimator(owned.job).estimate(plan).time.iteration();
    const Seconds after = estimate(1, 1, std::nullopt, false).time.iteration();
    REQUIRE(estimate(1, 1, std::nullopt).time.iteration() == plain);
    REQUIRE(estimate(1, 1, true).time.iteration() == plain);
    for (std::size_t i = 0; i < factors.size(); ++i) {
      for (std::size_t j = 0; j < factors.size(); ++j) {
        INFO("kernels " << factors[i] << ", exchange " << factors[j]);
        const Estimate best = estimate(factors[i], factors[j], std::nullopt);
        const Estimate always = estimate(factors[i], factors[j], true);
        REQUIRE(best.time.iteration() >= plain / rounding);
        REQUIRE(best.time.iteration() <= after * rounding);
        REQUIRE(best.time.iteration() <= always.time.iteration() * rounding);
        REQUIRE(best.hidden_exchange.value() >= 0);
        if (best.time.iteration() > plain * rounding) ++lengthened;
        for (const auto& [less_of_kernels, less_of_exchange] :
             {std::pair(i > 0 ? i - 1 : 0, j), std::pair(i, j > 0 ? j - 1 : 0)}) {
          for (const std::optional<bool> overlaps : {std::optional<bool>(), std::optional(true)}) {
            const Seconds less = estimate(factors[less_of_kernels], factors[less_of_exchange], overlaps).time.iteration();
            REQUIRE(less <= (overlaps ? always : best).time.iteration() * rounding);
          }
        }
      }
    }
  });
  REQUIRE(lengthened > 100);
}

// Stages are dealt out by their times on one device, and a faster device may deal them out differently: pipelines are left
// out.
TEST_CASE("no plan without a pipeline takes longer on a device of higher peak or memory bandwidth") {
  for_random_plans(4, 100, [&](const OwnedJob& owned, const Plan& plan) {
    if (plan.layer > 1) return;
    const Seconds before = iteration_of(owned, plan, owned.machine);
    Machine stronger = owned.machine;
    for (std::optional<FlopRate>& peak : stronger.device.peak) {
      if (peak) *peak *= 1.9;
    }
    REQUIRE(iteration_of(owned, plan, stronger) <= before * rounding);
    Machine faster = owned.machine;
    faster.device.memory_bandwidth *= 1.9;
    REQUIRE(iteration_of(owned, plan, faster) <= before * rounding);
  });
}

TEST_CASE("memory never grows with the ZeRO stage or with recomputation") {
  for_random_plans(5, 200, [&](const OwnedJob& owned, const Plan& original) {
    const Estimator estimator(owned.job);
    Plan plan = original;
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      plan.recompute = recompute;
      for (int stage = 1; stage <= 3; ++stage) {
        plan.zero_stage = stage - 1;
        const Bytes less_sharded = estimator.estimate(plan).memory.total();
        plan.zero_stage = stage;
        REQUIRE(estimator.estimate(plan).memory.total() <= less_sharded * rounding);
      }
    }
    for (int stage = 0; stage <= 3; ++stage) {
      plan.zero_stage = stage;
      plan.recompute = Recompute::none;
      const Bytes kept = estimator.estimate(plan).memory.total();
      plan.recompute = Recompute::full;
      REQUIRE(estimator.estimate(plan).memory.total() <= kept * rounding);
    }
  });
}

TEST_CASE("recomputation adds one forward pass and nothing is faster for it") {
  for_random_plans(6, 100, [&](const OwnedJob& owned, const Plan& original) {
    const Estimator estimator(owned.job);
    Plan plan = original;
    plan.recompute = Recompute::none;
    const Breakdown once = estimator.estimate(plan).time;
    plan.recompute = Recompute::full;
    const Breakdown twice = estimator.estimate(plan).time;
    REQUIRE(twice.iteration() * rounding >= once.iteration());
    if (plan.layer == 1) REQUIRE(twice.backward.value() == Approx((once.backward + once.forward).value()).epsilon(1e-9));
  });
}

/// What a search is run on.
struct Setting {
  std::string name;
  Model model;
  Machine machine;
  Coefficients coefficients;
  Assumptions assumptions;
  std::int64_t devices = 8;
  std::int64_t batch = 48;
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::momentum;
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{8, 48}, {12, 36}, {16, 16}, {24, 96}, {36, 72}};
  Assumptions no_overlap;
  no_overlap.overlap = false;
  Assumptions no_contention;
  no_contention.contention = false;
  Assumptions flat_rings;
  flat_rings.ring_only = true;
  const std::vector<std::pair<std::string, Assumptions>> assumptions{{"overlap", Assumptions{}},
                                                                     {"no overlap", no_overlap},
                                                                     {"no contention", no_contention},
                                                                     {"flat rings", flat_rings},
                                                                     {"ideal", ideal_assumptions()}};
  std::size_t turn = 0;
  for (const Model& model : some_models()) {
    for (const auto& [devices, batch] : sizes) {
      for (std::size_t machine = 0; machine < 3; ++machine) {
        // Each size meets two of the assumptions, in turn, on each machine.
        for (std::size_t k = 0; k < 2; ++k) {
          const auto& [assumption, value] = assumptions[turn++ % assumptions.size()];
          Setting setting{.name = {},
                          .model = model,
                          .machine = machine == 0 ? three_levels() : (machine == 1 ? slow_links() : load_machine("abci")),
                          .coefficients = machine == 2 ? abci_coefficients() : Coefficients{},
                          .assumptions = value,
                          .devices = devices,
                          .batch = batch};
          if (turn % 3 == 0) {
            setting.precision = Precision::fp16;
            setting.optimizer = Optimizer::adam;
          }
          setting.name =
              fmt::format("{} on {} {}, B = {}, {}", setting.model.name, devices, setting.machine.name, batch, assumption);
          all.push_back(std::move(setting));
        }
      }
    }
  }
  return all;
}

SearchOptions options_of(const Setting& setting, Objective objective) {
  SearchOptions options;
  options.devices = setting.devices;
  options.global_batch = setting.batch;
  options.precision = setting.precision;
  options.optimizer = setting.optimizer;
  options.objective = objective;
  return options;
}

std::map<Family, Estimate> by_family(const std::vector<Estimate>& estimates) {
  std::map<Family, Estimate> map;
  for (const Estimate& estimate : estimates) map.emplace(family_of(estimate.plan), estimate);
  return map;
}

/// The memory of a device that lets about half of the plans in.
Bytes median_memory(const SearchResult& all) {
  std::vector<double> needs;
  for (const RankedPlan& plan : all.ranked) needs.push_back(plan.memory.value());
  std::sort(needs.begin(), needs.end());
  return Bytes(needs[needs.size() / 2]);
}

void check_same_best(const OwnedJob& owned, SearchOptions options, const SearchResult& exhaustive) {
  const Estimator estimator(owned.job);
  const std::map<Family, Estimate> expected = by_family(exhaustive.best);
  const SearchResult pruned = search(estimator, options);
  const std::map<Family, Estimate> found = by_family(pruned.best);
  REQUIRE(found.size() == expected.size());
  for (const auto& [family, best] : expected) {
    INFO("expected " << text_of(best.plan));
    REQUIRE(found.count(family) == 1);
    const Estimate& own = found.at(family);
    INFO("found " << text_of(own.plan));
    REQUIRE(own.time.iteration().value() == Approx(best.time.iteration().value()).epsilon(1e-12));
    REQUIRE(own.memory.total().value() == Approx(best.memory.total().value()).epsilon(1e-12));
    REQUIRE(own.plan == best.plan);
  }
  REQUIRE(pruned.considered == exhaustive.considered);
  REQUIRE(pruned.behind.empty());

  // With only the best three wanted, these are found.
  options.top = 3;
  const SearchResult few = search(estimator, options);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, exhaustive.best.size()); ++i) {
    REQUIRE(few.best.size() > i);
    const Estimate& want = exhaustive.best[i];
    const Estimate& have = few.best[i];
    INFO("place " << i << ": expected " << text_of(want.plan) << ", found " << text_of(have.plan));
    if (options.objective == Objective::memory) {
      REQUIRE(have.memory.total() == want.memory.total());
    } else {
      REQUIRE(have.time.iteration() == want.time.iteration());
    }
  }
}

void check_search(bool tight_memory) {
  for (const Setting& setting : settings()) {
    INFO(setting.name << (tight_memory ? ", tight memory" : ""));
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    const auto job_on = [&](const Machine& on) {
      return std::make_unique<OwnedJob>(setting.model, on, setting.assumptions, 1e4, std::nullopt, setting.precision,
                                        setting.optimizer, setting.coefficients);
    };
    auto owned = job_on(machine);
    for (const Objective objective : {Objective::time, Objective::memory}) {
      INFO("objective " << to_string(objective));
      SearchOptions options = options_of(setting, objective);
      options.all = true;
      SearchResult exhaustive = search(Estimator(owned->job), options);
      REQUIRE(!exhaustive.ranked.empty());
      if (tight_memory) {
        machine.device.memory = median_memory(exhaustive);
        owned = job_on(machine);
        exhaustive = search(Estimator(owned->job), options);
      }
      options.all = false;
      check_same_best(*owned, options, exhaustive);
    }
  }
}

TEST_CASE("a search that prunes finds the best plan of each family that pricing every plan finds") { check_search(false); }

TEST_CASE("so does one on devices that have memory for half of the plans") { check_search(true); }

TEST_CASE("no plan is faster, or needs less memory, than its lower bounds say") {
  for (const Setting& setting : settings()) {
    INFO(setting.name);
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, setting.coefficients);
    const Estimator estimator(owned.job);
    SearchOptions options = options_of(setting, Objective::time);
    options.all = true;
    for (const RankedPlan& ranked : search(estimator, options).ranked) {
      const Seconds bound = estimator.lower_bound(ranked.plan);
      if (bound > ranked.iteration * rounding) {
        FAIL(fmt::format("{}: {} s, but bound {} s", text_of(ranked.plan), ranked.iteration.value(), bound.value()));
      }
      // The formula with γ counts neither optimizer nor masters; γ may be below one.
      if (setting.assumptions.memory_reuse) continue;
      if (estimator.memory_lower_bound(ranked.plan) > ranked.memory * rounding) FAIL("memory of " << text_of(ranked.plan));
    }
  }
}

/// Some problems of the model and of its splits, in times that are no device's: parts may be far cheaper than the whole.
MeasuredKernels erratic_kernels(const ModelFacts& facts, const Machine& machine, Precision precision, Optimizer optimizer,
                                std::uint64_t seed) {
  Random random(seed);
  const Roofline roofline(machine.device, precision);
  SplitDegrees splits{.filter = {2, 4}, .channel = {4}, .tensor = {2}};
  if (!tilings(facts, 2).empty()) splits.spatial = tilings(facts, 2);
  MeasuredKernels measured;
  measured.name = "erratic";
  for (const CountedProblem& each : split_problems(facts, splits, {1, 3, 8}, precision, optimizer)) {
    const double factor = std::exp2(random.whole(-10, 20) / 10.0);
    if (random.whole(0, 2) == 0) continue;
    if (is_update_problem(each.line)) {
      const UpdateProblem update = parse_update_problem(each.line, "test");
      const Seconds time = roofline.traffic_time(12.0 * static_cast<double>(update.parameters)) * factor;
      measured.updates.push_back({update, {time, time, time}});
    } else {
      const Problem problem = parse_problem(each.line, "test");
      const Work work = problem.operation->work(problem.pass, problem.inputs, problem.output);
      const Seconds time = roofline.time(work, static_cast<double>(problem.samples)) * factor;
      measured.kernels.push_back({problem, {time, time, time}});
    }
  }
  measured.forward = {.factor = 0.8};
  measured.backward = {.per_kernel = Seconds(20e-6)};
  return measured;
}

TEST_CASE("prices that rest on measurements are searched as surely, however erratic these are") {
  std::uint64_t seed = 0;
  for (const Setting& setting : settings()) {
    if (++seed % 4 != 0 || setting.assumptions.memory_reuse) continue;
    INFO(setting.name);
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    const ModelFacts facts = facts_of(setting.model);
    const MeasuredKernels measured = erratic_kernels(facts, machine, setting.precision, setting.optimizer, seed);
    const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, setting.coefficients, &measured);
    REQUIRE(owned.kernels.origin() == PriceOrigin::profile);
    const Estimator estimator(owned.job);
    SearchOptions options = options_of(setting, Objective::time);
    options.all = true;
    const SearchResult exhaustive = search(estimator, options);
    REQUIRE(!exhaustive.ranked.empty());
    for (const RankedPlan& ranked : exhaustive.ranked) {
      const Seconds bound = estimator.lower_bound(ranked.plan);
      if (bound > ranked.iteration * rounding) {
        FAIL(fmt::format("{}: {} s, but bound {} s", text_of(ranked.plan), ranked.iteration.value(), bound.value()));
      }
    }
    options.all = false;
    check_same_best(owned, options, exhaustive);
  }
}

/// Sixteen nodes of four in each kind of network that is no tree.
Machine networked(std::size_t turn) {
  Machine machine = three_levels();
  machine.levels.resize(2);
  machine.levels[1].units = 16;
  NetworkShape& shape = machine.shape;
  constexpr std::array kinds{NetworkShape::Kind::torus, NetworkShape::Kind::distributed_loop, NetworkShape::Kind::dragonfly,
                             NetworkShape::Kind::rail_optimised};
  shape.kind = kinds[turn % kinds.size()];
  shape.extents = {2, 8};
  shape.shortcuts = {2, 4, 8};
  shape.nodes_per_router = 2;
  shape.routers_per_group = 2;
  shape.global_links = 2;
  shape.link_bandwidth = Bandwidth(turn % 3 == 0 ? 3e9 : 20e9);
  shape.global_bandwidth = Bandwidth(5e9);
  shape.hop_latency = Seconds(1e-6);
  machine.network = make_network(machine);
  return machine;
}

TEST_CASE("a search on a network that is no tree, or with a measured φ, finds the best plans as well") {
  std::size_t turn = 0;
  for (const Setting& setting : settings()) {
    if (++turn % 7 != 0 || setting.assumptions.memory_reuse) continue;
    Machine machine = turn % 2 == 0 ? networked(turn / 14) : setting.machine;
    machine.device.memory = Bytes(1e15);
    Coefficients coefficients = setting.coefficients;
    if (turn % 4 != 0) {
      // Less than flows over links would give, and more.
      coefficients.contention = {
          {machine.levels[0].name, 1, 0.3, ""}, {machine.levels[1].name, 2, 0.4, ""}, {machine.levels[1].name, 4, 5, ""}};
    }
    INFO(setting.name << ", turn " << turn);
    const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, coefficients);
    const Estimator estimator(owned.job);
    SearchOptions options = options_of(setting, Objective::time);
    options.all = true;
    const SearchResult exhaustive = search(estimator, options);
    REQUIRE(!exhaustive.ranked.empty());
    for (const RankedPlan& ranked : exhaustive.ranked) {
      const Seconds bound = max(estimator.lower_bound(ranked.plan), estimator.placed_lower_bound(ranked.plan));
      if (bound > ranked.iteration * rounding) {
        FAIL(fmt::format("{}: {} s, but bound {} s", text_of(ranked.plan), ranked.iteration.value(), bound.value()));
      }
    }
    options.all = false;
    check_same_best(owned, options, exhaustive);
  }
}

/// Anything that runs may teach, cheaper and dearer than the sheet, of about half of the families.
LearnedFamilies anything_learned(std::uint64_t seed) {
  Random random(seed);
  const auto factor = [&] { return std::exp2(random.whole(-30, 30) / 10.0); };
  LearnedFamilies families;
  for (Family family = 1; family < (Family{1} << axis_count); ++family) {
    if (random.chance()) continue;
    Learned learned;
    learned.kernels = factor();
    learned.gradient = {factor(), factor()};
    learned.layer = {factor(), factor()};
    learned.halo = {factor(), factor()};
    learned.repeated = random.whole(0, 10) / 10.0;
    learned.whole_weights = SecondsPerByte(random.whole(0, 3) * 1e-10);
    learned.straggling = random.whole(0, 3) / 10.0;
    learned.per_iteration = Seconds(random.whole(0, 3) * 1e-3);
    families.emplace_back(family, learned);
  }
  return families;
}

TEST_CASE(
    "a search with what runs have taught, and with kernels that exchanges slow down, finds the best plans as well, and "
    "parts still add up") {
  std::size_t turn = 0;
  for (const Setting& setting : settings()) {
    if (++turn % 7 != 3 || setting.assumptions.memory_reuse) continue;
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    Coefficients coefficients = setting.coefficients;
    coefficients.learned = anything_learned(turn);
    coefficients.software.layered_gradients_in_hybrids = turn % 2 == 0;
    coefficients.overlap = {.kernels = 1 + static_cast<double>(turn % 4) / 4, .exchange = 1.5};
    INFO(setting.name << ", turn " << turn);
    const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, coefficients);
    const Estimator estimator(owned.job);
    SearchOptions options = options_of(setting, Objective::time);
    options.all = true;
    const SearchResult exhaustive = search(estimator, options);
    REQUIRE(!exhaustive.ranked.empty());
    for (const RankedPlan& ranked : exhaustive.ranked) {
      const Seconds bound = max(estimator.lower_bound(ranked.plan), estimator.placed_lower_bound(ranked.plan));
      if (bound > ranked.iteration * rounding) {
        FAIL(fmt::format("{}: {} s, but bound {} s", text_of(ranked.plan), ranked.iteration.value(), bound.value()));
      }
    }
    for (const Estimate& best : exhaustive.best) {
      Breakdown layers;
      for (const LayerExplanation& layer : estimator.explain(best.plan).layers) {
        for (const TimePart& part : time_parts) layers.*part.part += layer.time.*part.part;
      }
      INFO(text_of(best.plan));
      REQUIRE(layers.iteration().value() == Approx(best.time.iteration().value()).epsilon(1e-9));
    }
    options.all = false;
    check_same_best(owned, options, exhaustive);
  }
}

TEST_CASE("one device, and the closed forms, take no notice of what runs have taught") {
  for (const Model& model : some_models()) {
    const OwnedJob plain(model, three_levels(), Assumptions{}, 1e4);
    Coefficients coefficients;
    coefficients.learned = anything_learned(5);
    const OwnedJob taught(model, three_levels(), Assumptions{}, 1e4, std::nullopt, Precision::fp32, Optimizer::momentum,
                          coefficients);
    Plan plan;
    plan.global_batch = 8;
    CHECK(Estimator(plain.job).estimate(plan).time.iteration() == Estimator(taught.job).estimate(plan).time.iteration());
    const OwnedJob ideal(model, three_levels(), ideal_assumptions(), 1e4);
    const OwnedJob ideal_taught(model, three_levels(), ideal_assumptions(), 1e4, std::nullopt, Precision::fp32,
                                Optimizer::momentum, coefficients);
    plan.data = 4;
    CHECK(Estimator(ideal.job).estimate(plan).time.iteration() ==
          Estimator(ideal_taught.job).estimate(plan).time.iteration());
  }
}

Machine random_machine(Random& random) {
  Machine machine;
  const int levels = random.whole(1, 4);
  for (int level = 0; level < levels; ++level) {
    machine.levels.push_back({"level", 1 << random.whole(0, 4), Seconds(1e-6), Bandwidth(1e9), 1});
  }
  machine.levels.back().units = 1 << 20;  // holds any plan here
  return machine;
}

Family random_axes(Random& random) { return static_cast<Family>(random.whole(0, (1 << axis_count) - 1)); }

TEST_CASE("a group has the ranks of its axes, more of them in every wider unit, all of them where they meet") {
  Random random(7);
  for (int i = 0; i < 5000; ++i) {
    const Machine machine = random_machine(random);
    const Plan plan = random_plan(random, random.of(std::vector{1, 2, 6, 8, 12, 30, 64, 96, 360}), true);
    const Family axes = random_axes(random);
    const Group group = group_of(plan, machine, axes);
    INFO(text_of(plan) << ", axes " << axes);
    double ranks = 1;
    for (const Axis axis : all_axes) {
      if ((axes & family_bit(axis)) != 0) ranks *= degree(plan, axis);
    }
    REQUIRE(group.ranks == ranks);
    double unit = 1;
    double before = 1;
    for (std::size_t level = 0; level < machine.levels.size(); ++level) {
      unit *= machine.levels[level].units;
      const double held = std::min(unit, static_cast<double>(devices(plan)));
      REQUIRE(group.members[level] >= before);
      REQUIRE(group.members[level] <= ranks);
      // Every rank of a unit belongs to one of the groups.
      REQUIRE(group.members[level] * group.flows[level] == Approx(held).epsilon(1e-12));
      REQUIRE((level < group.outermost) == (group.members[level] < ranks));
      before = group.members[level];
    }
    REQUIRE(group.members[group.outermost] == ranks);
    REQUIRE(group.nodes() == ranks / group.members[0]);
  }
}

// Ranks are numbered with the digits of the placement, the first axis fastest. Those of a group share all digits but those
// of its axes, and neighbours in number share a unit. All sizes are powers of two, so that units hold whole groups or equal
// parts.
TEST_CASE("members and flows are what counting ranks one by one gives") {
  Random random(8);
  for (int i = 0; i < 300; ++i) {
    const Machine machine = random_machine(random);
    const Plan plan = random_plan(random, 1 << random.whole(0, 8), true);
    const Family axes = random_axes(random);
    const Group group = group_of(plan, machine, axes);
    INFO(text_of(plan) << ", axes " << axes);
    // For each rank, the number of its group: its digits outside the axes.
    std::vector<std::int64_t> group_of_rank;
    for (std::int64_t rank = 0; rank < devices(plan); ++rank) {
      std::int64_t left = rank;
      std::int64_t number = 0;
      for (const Axis axis : plan.placement) {
        const std::int64_t size = degree(plan, axis);
        number = number * size + ((axes & family_bit(axis)) != 0 ? 0 : left % size);
        left /= size;
      }
      group_of_rank.push_back(number);
    }
    std::int64_t unit = 1;
    for (std::size_t level = 0; level < machine.levels.size(); ++level) {
      unit *= machine.levels[level].units;
      std::map<std::int64_t, int> in_first_unit;
      for (std::int64_t rank = 0; rank < std::min(unit, devices(plan)); ++rank) {
        ++in_first_unit[group_of_rank[static_cast<std::size_t>(rank)]];
      }
      REQUIRE(group.flows[level] == static_cast<double>(in_first_unit.size()));
      REQUIRE(group.members[level] == in_first_unit.begin()->second);
    }
  }
}

TEST_CASE("the axis placed first lives inside a node when the node can hold it") {
  Random random(9);
  const Machine machine = three_levels();
  for (const Axis axis : all_axes) {
    Plan plan;
    plan.data = 3;
    plan.spatial = {2, 1, 1};
    plan.layer = 2;
    plan.filter = 2;
    plan.channel = 2;
    plan.tensor = 2;
    const auto at = std::find(plan.placement.begin(), plan.placement.end(), axis);
    std::rotate(plan.placement.begin(), at, at + 1);
    const Group group = group_of(plan, machine, family_bit(axis));
    INFO(to_string(axis));
    REQUIRE(group.outermost == 0);
    REQUIRE(group.members[0] == degree(plan, axis));
    REQUIRE(group.nodes() == 1);
  }
}

}  // namespace
