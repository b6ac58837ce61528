// Whether a search finds the best of all plans if parts are frozen, experts stay whole, or host memory is used.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "estimator/search/rank.hpp"
#include "estimator/search/search.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/trained_parts.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"

namespace {

using namespace ddl;

/// Four nodes of four devices: 10 TFLOP/s (40 in half precision) and 1 TB/s each, a link of 20 GB/s to a host per two
/// devices.
Machine small_cluster(double memory) {
  Machine machine;
  machine.name = "small";
  machine.device.name = "device";
  machine.device.peak = {FlopRate(10e12), std::nullopt, FlopRate(40e12), FlopRate(40e12)};
  machine.device.memory = Bytes(memory);
  machine.device.memory_bandwidth = Bandwidth(1e12);
  machine.device.is_processor = true;  // without buffers and a driver's context
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

std::string text_of(const Plan& plan) {
  std::string text = fmt::format("{} ({}), S = {}", degrees_text(plan.mesh), placement_text(plan), plan.micro_batches);
  for (const PlanChoiceRow& row : plan_choices()) text += fmt::format(", {} {}", row.key, row.name(row.get(plan)));
  return text;
}

struct Case {
  std::string name;
  Model model;
  double memory = 1e9;  ///< bytes of a device
  std::int64_t devices = 8, batch = 16;
  bool offloads = false;
  ChosenOfPlan chosen{};
  Coefficients coefficients{};
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
  const SearchResult all = search(estimator, options);
  for (const RankedPlan& ranked : all.ranked) {
    INFO(text_of(ranked.plan) << " in " << ranked.iteration.value() << " s");
    const Seconds time = ranked.iteration * (1 + 1e-9);
    REQUIRE(estimator.lower_bound(ranked.plan) <= time);
    REQUIRE(estimator.placed_lower_bound(ranked.plan) <= time);
    REQUIRE(estimator.split_lower_bound(ranked.plan) <= time);
    REQUIRE(estimator.uncut_time(ranked.plan) <= time);
    REQUIRE(estimator.cut_time(ranked.plan) <= time);
  }
  REQUIRE(!all.best.empty());
  for (std::size_t i = 0; i < std::min<std::size_t>(all.best.size(), 8); ++i) {
    REQUIRE(found.best.size() > i);
    INFO("place " << i << ": found " << text_of(found.best[i].plan) << " in " << found.best[i].time.iteration().value()
                  << " s, best " << text_of(all.best[i].plan) << " in " << all.best[i].time.iteration().value() << " s");
    CHECK(found.best[i].plan == all.best[i].plan);
  }
  CHECK(found.priced < all.priced);
}

/// Blocks, each of which can be recomputed.
Model deep(int layers) {
  return parse_model(fmt::format("format: 1\nmodel: deep\nfamily: llama\nparameters: {{layers: {}, hidden: 64, heads: 4, "
                                 "feed_forward: 128, vocabulary: 64, tokens: 64}}\n",
                                 layers),
                     "deep.yaml");
}

/// The best plan of each family among all that a search considers, each with every number of recomputed blocks.
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
    for (int blocks = 1; blocks <= estimator.most_blocks_again(each.plan); ++blocks) {
      Plan plan = each.plan;
      plan.recompute_blocks = blocks;
      const Estimate estimate = estimator.estimate(plan);
      if (estimate.feasible()) add(ranked(estimate, options));
    }
  }
  return best;
}

TEST_CASE("a search finds the best of all numbers of blocks to compute again") {
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
          INFO("found " << text_of(each.plan) << " in " << each.time.iteration().value() << " s, best "
                        << text_of(wanted.plan) << " in " << wanted.iteration.value() << " s");
          CHECK(each.plan == wanted.plan);
          in_some += each.plan.recompute_blocks > 0 ? 1 : 0;
        }
      }
    }
  }
  CHECK(in_some >= 10);
}

TEST_CASE("more blocks computed again never need more memory, and never take less time") {
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
    for (int blocks = 2; blocks <= estimator.most_blocks_again(each.plan) + 1; ++blocks, ++compared) {
      plan.recompute_blocks = blocks;
      const Estimate more = estimator.estimate(plan);
      INFO(text_of(plan));
      REQUIRE(more.time.iteration() * (1 + 1e-12) >= before.time.iteration());
      REQUIRE(more.memory.total() <= before.memory.total() * (1 + 1e-12));
      REQUIRE(more.memory.upper_bound() <= before.memory.upper_bound() * (1 + 1e-12));
      before = more;
    }
    // If one more does not leave a block unchanged, it recomputes all of them.
    if (plan.recompute_blocks > 1) REQUIRE(before.memory.total().value() == Approx(each.memory.value()));
  }
  CHECK(compared > 1000);
}

TEST_CASE("a search shards a second copy of weights in a node where that is the fastest plan, and finds the best of all") {
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
  CHECK(without.best.front().time.iteration() > with.best.front().time.iteration());
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

TEST_CASE("a search that may leave experts whole finds the best of all plans") {
  check({"experts", mixture()});
  check({"experts, little memory", mixture(), 16e6, 8, 32});
  check({"experts on two nodes", mixture(), 1e9, 4, 8});
}

TEST_CASE("a search finds the best of all plans where All-to-alls of experts run beside another micro-batch") {
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

TEST_CASE("of like degrees, tokens are divided where they divide evenly, and only there") {
  // Four ranks of tensor divide the tokens of two ranks of context evenly, but not those of four.
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
    INFO(text_of(each.plan));
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

TEST_CASE("the memory of the host is used where nothing fits without it, and only there") {
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
