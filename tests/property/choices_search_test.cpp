// Tests whether a search finds the best of all plans if some layers are frozen, experts stay whole, or host memory is used.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "estimator/kernels/shard_problems.hpp"
#include "estimator/search/rank.hpp"
#include "estimator/search/search.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/trained_parts.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/property/random_plans.hpp"

namespace choices_search_tests {

namespace {

using namespace ddl;

/// Returns four nodes of four devices, each with 10 TFLOP/s (40 in half precision) and 1 TB/s. Two
/// devices share a link of 20 GB/s to the host.
Machine small_cluster(double memory) {
  Machine machine;
  machine.name = "small";
  machine.device.name = "device";
  machine.device.peak[Precision::fp32] = FlopRate(10e12);
  machine.device.peak[Precision::fp16] = FlopRate(40e12);
  machine.device.peak[Precision::bf16] = FlopRate(40e12);
  machine.device.memory = Bytes(memory);
  machine.device.memory_bandwidth = Bandwidth(1e12);
  machine.device.is_processor = true;  // without buffers and without a driver's context
  machine.levels.push_back({"node", 4, Seconds(3e-6), Bandwidth(50e9), 2});
  machine.levels.push_back({"system", 4, Seconds(8e-6), Bandwidth(12e9), 1});
  machine.host = HostPath{Bandwidth(20e9), 2, Seconds(0), Bandwidth(100e9)};
  machine.storage.host_memory = Bytes(1e12);
  return machine;
}

Model mixture() {
  return parse_model(R"(format: 1
model: mixture
family: llama
parameters: {layers: 4, hidden: 128, heads: 8, feed_forward: 256, vocabulary: 512, tokens: 64, experts: 8, active: 2}
)",
                     "mixture.yaml");
}

Model transformer(const TrainedParts& parts = {}) {
  Model model = parse_model(R"(format: 1
model: transformer
family: llama
parameters: {layers: 4, hidden: 256, heads: 8, feed_forward: 512, vocabulary: 1024, tokens: 64}
)",
                            "transformer.yaml");
  train_only(model, parts);
  return model;
}

Model adapted() {
  TrainedParts adapters;
  adapters.adapter_rank = 8;
  return transformer(adapters);
}

/// Returns a plan as text with all choices.
std::string text_of_choices(const Plan& plan) {
  std::string text = fmt::format("{} ({}), S = {}", degrees_text(plan.mesh), placement_text(plan), plan.micro_batches);
  for (const PlanChoiceRow& row : plan_choices()) text += fmt::format(", {} {}", row.key, row.name(row.get(plan)));
  return text;
}

struct Case {
  std::string name;
  Model model;
  double memory = 1e9;  ///< memory of a device in bytes
  std::int64_t devices = 8, batch = 16;
  bool offloads = false;
  ChosenOfPlan chosen{};
  Coefficients coefficients{};
  std::vector<NamedFamily> families{};
  Assumptions assumptions{};
};

void check(const Case& each) {
  INFO(each.name);
  const OwnedJob owned(each.model, small_cluster(each.memory), {}, 1000, std::nullopt, Precision::bf16, Optimizer::adam,
                       each.coefficients);
  SearchOptions options;
  options.devices = each.devices;
  options.global_batch = each.batch;
  options.precision = Precision::bf16;
  options.optimizer = Optimizer::adam;
  options.offloads = each.offloads;
  options.chosen = each.chosen;
  options.top = 8;
  const SearchResult found = search(Estimator(owned.job), options);
  options.all = true;
  const Estimator estimator(owned.job);
  const TimeBounds bounds(estimator);
  const SearchResult all = search(estimator, options);
  for (const RankedPlan& ranked : all.ranked) {
    INFO(text_of_choices(ranked.plan) << " in " << ranked.step_time.value() << " s");
    const Seconds time = ranked.step_time * (1 + 1e-9);
    REQUIRE(bounds.least(Closeness::degrees, ranked.plan) <= time);
    REQUIRE(bounds.least(Closeness::placement, ranked.plan) <= time);
    REQUIRE(bounds.least(Closeness::split, ranked.plan) <= time);
    REQUIRE(bounds.least(Closeness::stages, ranked.plan) <= time);
  }
  REQUIRE(!all.best.empty());
  for (std::size_t i = 0; i < std::min<std::size_t>(all.best.size(), 8); ++i) {
    REQUIRE(found.best.size() > i);
    INFO("place " << i << ": found " << text_of_choices(found.best[i].plan) << " in "
                  << found.best[i].time.step_time().value() << " s, best " << text_of_choices(all.best[i].plan) << " in "
                  << all.best[i].time.step_time().value() << " s");
    CHECK(found.best[i].plan == all.best[i].plan);
  }
  CHECK(found.estimated < all.estimated);
}

SearchOptions options_of(const Case& each) {
  SearchOptions options;
  options.devices = each.devices;
  options.global_batch = each.batch;
  options.precision = Precision::bf16;
  options.optimizer = Optimizer::adam;
  options.offloads = each.offloads;
  options.families = each.families;
  options.chosen = each.chosen;
  choose_what_follows(options.chosen);
  return options;
}

/// The results of a search, and of a search that estimates every plan. Neither may contain a plan that is impossible.
struct Answers {
  SearchResult found, all;
};
Answers answers_to(const Case& each, const Machine& machine) {
  const OwnedJob owned(each.model, machine, each.assumptions, 1000, std::nullopt, Precision::bf16, Optimizer::adam,
                       each.coefficients);
  const Estimator estimator(owned.job);
  SearchOptions options = options_of(each);
  Answers answers;
  answers.found = search(estimator, options);
  options.all = true;
  answers.all = search(estimator, options);
  for (const SearchResult* result : {&answers.found, &answers.all}) {
    for (const Estimate& best : result->best) {
      INFO(text_of_choices(best.plan));
      REQUIRE(estimator.limits(best.plan).empty());
      REQUIRE(best.feasible());
    }
  }
  return answers;
}

/// Checks that a search finds the best plan of each family that has a plan. Returns whether any family has one.
bool finds_all(const Case& each) {
  INFO(each.name);
  const auto [found, all] = answers_to(each, small_cluster(each.memory));
  REQUIRE(found.best.size() == all.best.size());
  for (std::size_t i = 0; i < all.best.size(); ++i) {
    INFO("place " << i << ": found " << text_of_choices(found.best[i].plan) << " in "
                  << found.best[i].time.step_time().value() << " s, best " << text_of_choices(all.best[i].plan) << " in "
                  << all.best[i].time.step_time().value() << " s");
    REQUIRE(found.best[i].plan == all.best[i].plan);
  }
  return !all.best.empty();
}

/// Returns some values of a choice: the first values, and for sizes the values that divide small numbers of ranks.
std::vector<int> some_values(const PlanChoiceRow& row) {
  std::vector<int> values;
  for (int value = 0; value <= std::min(row.last, 4); ++value) values.push_back(value);
  return values;
}

TEST_CASE("for each value to which a choice is fixed, a search finds the best of all plans") {
  // Each pair is a model, and a device memory in bytes with which about half of the plans fit.
  const std::vector<std::pair<Model, double>> models{
      {transformer(), 16e6}, {mixture(), 16e6}, {adapted(), 8e6}, {residual_images(), 16e6}, {volumes(), 24e6}};
  const bool is_long = std::getenv("DDL_LONG_TESTS") != nullptr;
  std::size_t turn = 0, possible = 0;
  for (const PlanChoiceRow& row : plan_choices()) {
    for (const int value : some_values(row)) {
      // A normal run of the tests has one search for each value, each time with another model.
      for (int i = 0; i < (is_long ? 60 : 2); ++i, ++turn) {
        Random random(turn);
        const auto& [model, tight] = models[turn % models.size()];
        Case each{.name = fmt::format("{}, {} {}", model.name, row.key, row.name(value)),
                  .model = model,
                  .memory = random.chance() ? 1e9 : tight,
                  .devices = random.of(is_long ? std::vector{2, 4, 6, 8, 12} : std::vector{4, 6}),
                  .batch = random.of(std::vector{4, 8, 12, 16}),
                  .offloads = row.needs_host};
        each.chosen[row.choice] = value;
        if (random.chance()) each.coefficients.software.overlaps_expert_exchanges = true;
        possible += finds_all(each) ? 1U : 0U;
      }
    }
  }
  CHECK(possible > turn / 2);
}

/// Returns assumptions under which ranks cannot exchange gradients with every stage of ZeRO.
std::vector<Assumptions> rare_exchanges() {
  std::vector<Assumptions> all(5);
  all[0].local_steps = 8;
  all[1].compression = Compression::one_bit;
  all[2].compression = Compression::top_k;
  all[3].synchronization = Synchronization::async;
  all[4].synchronization = Synchronization::gossip;
  return all;
}

TEST_CASE("a search finds the best of all plans whose gradients are exchanged rarely or in part") {
  std::size_t possible = 0, in_groups = 0;
  for (const Assumptions& assumptions : rare_exchanges()) {
    for (const double memory : {1e9, 16e6}) {
      Case each{.name = "any plan", .model = transformer(), .memory = memory, .devices = 16, .assumptions = assumptions};
      each.families = {{family_bit(Axis::data)}, {family_bit(Axis::data) | family_bit(Axis::tensor)}};
      possible += finds_all(each) ? 1U : 0U;
      each.name = "shard groups";
      each.chosen[PlanChoice::shard_group] = 4;
      in_groups += finds_all(each) && assumptions.local_steps > 1 ? 1U : 0U;
    }
  }
  CHECK(possible >= 8);
  CHECK(in_groups == 2);
}

TEST_CASE("a search rejects a ZeRO stage that a strategy names, if its ranks cannot exchange gradients") {
  const std::vector<NamedFamily> sharded{{family_bit(Axis::data), 3}};
  for (const Assumptions& assumptions : rare_exchanges()) {
    // All four devices of the only node are one shard group.
    const auto [found, all] =
        answers_to({.name = "fsdp", .model = transformer(), .devices = 4, .families = sharded, .assumptions = assumptions},
                   small_cluster(1e9));
    CHECK(found.best.empty());
    REQUIRE(found.rejected.size() == 1);
    CHECK(!found.rejected.front().limits.empty());
    CHECK(all.best.empty());
  }
}

/// Returns a model of blocks, each of which may be recomputed.
Model deep(int layers) {
  return parse_model(fmt::format("format: 1\nmodel: deep\nfamily: llama\nparameters: {{layers: {}, hidden: 64, heads: 4, "
                                 "feed_forward: 128, vocabulary: 64, tokens: 64}}\n",
                                 layers),
                     "deep.yaml");
}

TEST_CASE("a search answers with no plan whose time is not a number") {
  Machine machine = small_cluster(1e9);
  machine.device.peak[Precision::fp32] = FlopRate(1e-307);
  machine.device.peak[Precision::fp16] = FlopRate(1e-307);
  machine.device.peak[Precision::bf16] = FlopRate(1e-307);
  const std::vector<NamedFamily> families{{family_bit(Axis::data)}, {family_bit(Axis::data) | family_bit(Axis::tensor)}};
  const auto [found, all] = answers_to({.name = "too slow", .model = deep(2), .devices = 4, .families = families}, machine);
  for (const SearchResult* result : {&found, &all}) {
    CHECK(result->best.empty());
    CHECK(result->ranked.empty());
    REQUIRE(!result->rejected.empty());
    for (const Estimate& each : result->rejected) CHECK(!each.limits.empty());
  }
}

/// Returns the best plan of each family, of all plans that a search considers, each with every
/// possible number of recomputed blocks.
std::map<Family, RankedPlan> best_of_all_blocks(const Estimator& estimator, const SearchOptions& options,
                                                const std::vector<RankedPlan>& all) {
  std::map<Family, RankedPlan> best;
  const auto add = [&](const RankedPlan& ranked) {
    const auto [known, is_new] = best.try_emplace(ranked.plan.mesh.family(), ranked);
    if (!is_new && preferred(ranked, known->second, options.objective)) known->second = ranked;
  };
  for (const RankedPlan& each : all) {
    add(each);
    if (each.plan.recompute != Recompute::full || each.plan.recompute_blocks > 0 || each.plan.offload_activations) continue;
    for (int blocks = 1; blocks <= estimator.steps().most_blocks_again(each.plan); ++blocks) {
      Plan plan = each.plan;
      plan.recompute_blocks = blocks;
      const Estimate estimate = estimator.estimate(plan);
      if (estimate.feasible()) add(ranked(estimate, options));
    }
  }
  return best;
}

TEST_CASE("a search finds the best number of recomputed blocks") {
  int in_some = 0;
  for (const auto& [layers, devices, batch] : {std::array{8, 2, 64}, {6, 4, 32}, {12, 4, 16}, {5, 8, 32}}) {
    for (const double memory : {4e6, 6e6, 9e6, 14e6, 20e6}) {
      for (const Objective objective : {Objective::time, Objective::memory}) {
        INFO(layers << " layers on " << devices << ", " << memory << " bytes, " << to_string(objective));
        const OwnedJob owned(deep(layers), small_cluster(memory), {}, 1000, std::nullopt, Precision::bf16, Optimizer::adam);
        const Estimator estimator(owned.job);
        SearchOptions options;
        options.devices = devices;
        options.global_batch = batch;
        options.precision = Precision::bf16;
        options.optimizer = Optimizer::adam;
        options.objective = objective;
        options.families = {{family_bit(Axis::data), std::nullopt},
                            {family_bit(Axis::data) | family_bit(Axis::pipeline), std::nullopt},
                            {family_bit(Axis::pipeline), std::nullopt},
                            {family_bit(Axis::tensor), std::nullopt}};
        options.all = true;
        const SearchResult all = search(estimator, options);
        options.all = false;
        const SearchResult found = search(estimator, options);
        REQUIRE(found.considered == all.considered);
        const std::map<Family, RankedPlan> best = best_of_all_blocks(estimator, options, all.ranked);
        // Host memory is tested separately.
        if (best.empty()) continue;
        REQUIRE(found.best.size() == best.size());
        for (const Estimate& each : found.best) {
          const RankedPlan& wanted = best.at(each.plan.mesh.family());
          INFO("found " << text_of_choices(each.plan) << " in " << each.time.step_time().value() << " s, best "
                        << text_of_choices(wanted.plan) << " in " << wanted.step_time.value() << " s");
          CHECK(each.plan == wanted.plan);
          in_some += each.plan.recompute_blocks > 0 ? 1 : 0;
        }
      }
    }
  }
  CHECK(in_some >= 10);
}

TEST_CASE("more recomputed blocks never need more memory, and never take less time") {
  const OwnedJob owned(deep(12), small_cluster(1e9), {}, 1000, std::nullopt, Precision::bf16, Optimizer::adam);
  const Estimator estimator(owned.job);
  SearchOptions options;
  options.devices = 8;
  options.global_batch = 64;
  options.precision = Precision::bf16;
  options.optimizer = Optimizer::adam;
  options.chosen[PlanChoice::recompute] = static_cast<int>(Recompute::full);
  options.all = true;
  std::size_t at = 0, compared = 0;
  for (const RankedPlan& each : search(estimator, options).ranked) {
    if (at++ % 7 != 0) continue;
    Plan plan = each.plan;
    plan.recompute_blocks = 1;
    Estimate before = estimator.estimate(plan);
    for (int blocks = 2; blocks <= estimator.steps().most_blocks_again(each.plan) + 1; ++blocks, ++compared) {
      plan.recompute_blocks = blocks;
      const Estimate more = estimator.estimate(plan);
      INFO(text_of_choices(plan));
      REQUIRE(more.time.step_time() * (1 + 1e-12) >= before.time.step_time());
      REQUIRE(more.memory.total() <= before.memory.total() * (1 + 1e-12));
      REQUIRE(more.memory.upper_bound() <= before.memory.upper_bound() * (1 + 1e-12));
      before = more;
    }
    // If recomputing one more block leaves no block unchanged, all blocks are recomputed.
    if (plan.recompute_blocks > 1) REQUIRE(before.memory.total().value() == Approx(each.memory.value()));
  }
  CHECK(compared > 1000);
}

TEST_CASE("a search uses secondary shards in a node if that is fastest, and finds the best plan") {
  const Case second{.name = "data alone", .model = transformer(), .memory = 1e9, .devices = 16, .batch = 64};
  check(second);
  Case sharded{.name = "ZeRO-3", .model = transformer(), .memory = 9e6, .devices = 16, .batch = 64};
  sharded.chosen[PlanChoice::zero] = 3;
  check(sharded);
  const OwnedJob owned(transformer(), small_cluster(1e9), {}, 1000, std::nullopt, Precision::bf16, Optimizer::adam);
  SearchOptions options;
  options.devices = 16;
  options.global_batch = 64;
  options.precision = Precision::bf16;
  options.optimizer = Optimizer::adam;
  options.families = {{family_bit(Axis::data), 3}};
  options.micro_batches = 2;
  options.chosen[PlanChoice::shard_group] = 0;
  const SearchResult with = search(Estimator(owned.job), options);
  REQUIRE(!with.best.empty());
  CHECK(with.best.front().plan.secondary_shards == 4);
  options.admitted[static_cast<std::size_t>(PlanChoice::secondary_shards)] = std::vector<int>{0};
  const SearchResult without = search(Estimator(owned.job), options);
  REQUIRE(!without.best.empty());
  CHECK(without.best.front().plan.secondary_shards == 0);
  CHECK(without.best.front().time.step_time() > with.best.front().time.step_time());
}

TEST_CASE("a search shards inside a site if links between sites are slow, and finds the best plan") {
  Machine machine = small_cluster(1e9);
  machine.levels.back().units = 2;
  machine.levels.push_back({"sites", 2, Seconds(1e-3), Bandwidth(1e8), 1});
  const Mesh mesh{{Axis::data, 16}};
  CHECK(searched_groups(machine, mesh) == GroupSizes{4, 8, 0});
  Machine even = machine;  // 12 GB/s for each of 4 devices of a node, and 24 GB/s for each of 8 devices of a site
  even.levels.back().bandwidth = Bandwidth(24e9);
  CHECK(searched_groups(even, mesh) == GroupSizes{4, 0, 0});
  // Two ranks of data in each site, with four tensor-parallel ranks each.
  CHECK(searched_groups(machine, Mesh{{Axis::data, 4}, {Axis::tensor, 4}}) == GroupSizes{2, 0, 0});
  Case sites{.name = "sites", .model = transformer(), .memory = 1e9, .devices = 16, .batch = 64};
  sites.families = {{family_bit(Axis::data), 3}};
  const auto [found, all] = answers_to(sites, machine);
  REQUIRE(!all.best.empty());
  CHECK(all.best.front().plan.shard_group == 8);
  CHECK(found.best.front().plan == all.best.front().plan);
}

TEST_CASE("a search of partly frozen models finds the best of all plans") {
  TrainedParts adapters, head, middle;
  adapters.adapter_rank = 8;
  head.trained = {"head"};
  middle.trained = {"layer2"};
  check({"adapters", transformer(adapters)});
  check({"adapters, little memory", transformer(adapters), 8e6, 8, 32});
  check({"head alone", transformer(head)});
  check({"one block", transformer(middle), 12e6, 4, 16});
}

TEST_CASE("a search with unsplit experts finds the best of all plans") {
  check({"experts", mixture()});
  check({"experts, little memory", mixture(), 16e6, 8, 32});
  check({"experts on two nodes", mixture(), 1e9, 4, 8});
}

/// Returns the kernels of all layers with roofline times, as if they were measured.
MeasuredKernels measured_as_predicted(const ModelFacts& facts, const Device& device) {
  MeasuredKernels measured;
  measured.name = "as predicted";
  for (const CountedProblem& each : split_problems(facts, {}, {2}, Precision::bf16, Optimizer::adam)) {
    if (is_update_problem(each.line)) continue;
    const Problem problem = parse_problem(each.line, "test");
    const Work work = problem.operation->work(problem.pass, problem.inputs, problem.output);
    const Seconds time = Roofline(device, problem.precision).time(work, static_cast<double>(problem.samples));
    measured.kernels.push_back({problem, {time, time, time}});
  }
  return measured;
}

TEST_CASE("measured times are the times of a rank's experts, regardless of earlier estimates") {
  const Machine machine = small_cluster(1e9);
  const Model model = mixture();
  const MeasuredKernels measured = measured_as_predicted(facts_of(model), machine.device);
  const auto plan_of = [](int ranks) {
    Plan plan;
    plan.mesh = {{Axis::expert, ranks}, {Axis::data, 8 / ranks}};
    plan.global_batch = 16;
    plan.precision = Precision::bf16;
    plan.optimizer = Optimizer::adam;
    return plan;
  };
  const auto time_after = [&](const std::vector<int>& before, int ranks) {
    const OwnedJob owned(model, machine, {}, 1000, std::nullopt, Precision::bf16, Optimizer::adam, {}, &measured);
    REQUIRE(owned.kernels.origin() == KernelBasis::profile);
    const Estimator estimator(owned.job);
    for (const int each : before) static_cast<void>(estimator.step_time(plan_of(each)));
    return estimator.step_time(plan_of(ranks));
  };
  CHECK(time_after({2}, 4) == time_after({}, 4));
  CHECK(time_after({8, 4}, 2) == time_after({}, 2));
}

TEST_CASE("a search finds the best of all plans if all-to-alls of experts are overlapped with another micro-batch") {
  Coefficients coefficients;
  coefficients.software.overlaps_expert_exchanges = true;
  // Stages are equal except for a small head, so that the bound equals the time.
  const auto even = [] {
    return parse_model(
        "format: 1\nmodel: even\nfamily: llama\nparameters: {layers: 8, hidden: 128, heads: 8, feed_forward: 256, "
        "vocabulary: 16, tokens: 64, experts: 8, active: 2}\n",
        "even.yaml");
  };
  check({.name = "alike", .model = even(), .batch = 64, .coefficients = coefficients});
  check({.name = "little memory", .model = mixture(), .memory = 16e6, .batch = 32, .coefficients = coefficients});
  coefficients.overlap = {.kernels = 1.2, .exchange = 1.5};
  coefficients.software.equal_stages = true;
  check({.name = "slowed down", .model = even(), .batch = 64, .coefficients = coefficients});
}

TEST_CASE("if degrees are equal, tokens are only divided if they divide evenly") {
  // Four tensor-parallel ranks divide the tokens of two context-parallel ranks evenly, but not those of four.
  const Model model = parse_model(R"(format: 1
model: short
family: llama
parameters: {layers: 2, hidden: 128, heads: 4, feed_forward: 256, vocabulary: 512, tokens: 24}
)",
                                  "short.yaml");
  Machine machine = small_cluster(1e9);
  machine.levels[1].units = 8;
  const OwnedJob owned(model, machine, {}, 1000, std::nullopt, Precision::bf16, Optimizer::adam);
  const Estimator estimator(owned.job);
  SearchOptions options;
  options.devices = 32;
  options.global_batch = 32;
  options.precision = Precision::bf16;
  options.optimizer = Optimizer::adam;
  options.families = {{family_bit(Axis::tensor) | family_bit(Axis::context) | family_bit(Axis::data)}};
  options.all = true;
  std::map<Mesh, bool> divides;  // whether any plan with these degrees divides tokens
  for (const RankedPlan& each : search(estimator, options).ranked) {
    INFO(text_of_choices(each.plan));
    REQUIRE(estimator.limits(each.plan).empty());
    bool& any = divides[each.plan.mesh];
    any = any || each.plan.sequence_parallel;
  }
  CHECK(divides.count({{Axis::tensor, 4}, {Axis::context, 2}, {Axis::data, 4}}) == 1);
  CHECK(divides.count({{Axis::tensor, 4}, {Axis::context, 4}, {Axis::data, 2}}) == 1);
  for (const auto& [mesh, any] : divides) {
    INFO(degrees_text(mesh));
    CHECK(any == (24 % (mesh[Axis::tensor] * mesh[Axis::context]) == 0));
  }
}

TEST_CASE("a search with the memory of the host finds the best of all plans") {
  check({"offload, room for all", transformer(), 1e9, 4, 8, true});
  check({"offload, room for some", transformer(), 16e6, 4, 16, true});
  check({"offload, room for little", transformer(), 8e6, 4, 8, true});
  Case kept{"weights kept after forward", transformer(), 1e9, 4, 16};
  kept.chosen[PlanChoice::reshard] = 1;
  check(kept);
  Case second{"second copy of weights", transformer(), 1e9, 8, 16};
  second.chosen[PlanChoice::secondary_shards] = 2;
  second.chosen[PlanChoice::zero] = 3;
  check(second);
  Case moved{"activations offloaded", transformer(), 1e9, 4, 16};
  moved.chosen[PlanChoice::offload_activations] = 1;
  check(moved);
}

TEST_CASE("host memory is used only if no plan fits without it") {
  SearchOptions options;
  options.devices = 2;
  options.global_batch = 8;
  options.precision = Precision::bf16;
  options.optimizer = Optimizer::adam;
  const auto uses_host = [&](double memory) {
    const OwnedJob owned(transformer(), small_cluster(memory), {}, 1000, std::nullopt, Precision::bf16, Optimizer::adam);
    const SearchResult found = search(Estimator(owned.job), options);
    REQUIRE(!found.best.empty());
    const auto is_there = [](const Estimate& each) {
      return each.plan.offload != Offload::none || each.plan.offload_activations;
    };
    const auto count = std::count_if(found.best.begin(), found.best.end(), is_there);
    return count > 0;
  };
  CHECK_FALSE(uses_host(1e9));
  CHECK(uses_host(14e6));
}

}  // namespace

}  // namespace choices_search_tests
