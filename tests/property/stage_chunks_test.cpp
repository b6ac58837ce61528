// Tests virtual stages whose layers have different layouts: each model chunk has layers of its own.
#include "estimator/layers/stage_chunks.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "estimator/schedules/schedule.hpp"
#include "estimator/search/layer_search.hpp"
#include "estimator/search/search.hpp"
#include "estimator/search/unit_graph.hpp"
#include "tests/catch.hpp"
#include "tests/property/segment_cases.hpp"

namespace stage_chunks_tests {

using namespace ddl;
using segments_tests::plan_on;
using segments_tests::Training;

namespace {

const Mesh data{{Axis::data, 2}, {Axis::pipeline, 4}}, tensor{{Axis::tensor, 2}, {Axis::pipeline, 4}};

int first_of_block(const Training& training, int block) {
  const auto& layers = training.owned.model.layers;
  const auto found = std::find_if(layers.begin(), layers.end(), [&](const Layer& each) { return each.block == block; });
  return static_cast<int>(found - layers.begin());
}

/// A plan of four stages with three virtual stages each, whose layers from a block on have a tensor split.
Plan split_from(const Training& training, int block) {
  Plan plan = plan_on(data, 32);
  plan.micro_batches = 8;
  plan.virtual_stages = 3;
  plan.segments = {{first_of_block(training, block), tensor}};
  return plan;
}

/// Simulates the slots of an interleaved schedule whose chunks take their own times, without transfers. Returns seconds.
double simulated(const Estimator& estimator, const Plan& plan) {
  const LayerCostTable& costs = estimator.tables().costs(plan);
  const std::vector<int>& firsts = estimator.stages(plan);
  const int stages = plan.mesh[Axis::pipeline], chunks = cut_chunks(plan), all = stages * chunks;
  REQUIRE(static_cast<int>(firsts.size()) == all + 1);
  const auto time_of = [&](int chunk, bool backward) {
    const auto at = static_cast<std::size_t>(chunk);
    const LayerCosts& own = costs.between(firsts[at], firsts[at + 1]);
    return (backward ? own[LayerTime::backward] + own[LayerTime::exchange_backward]
                     : own[LayerTime::forward] + own[LayerTime::exchange_forward])
        .value();
  };
  std::map<std::tuple<bool, int, std::int64_t>, double> done;  // by direction, chunk and micro-batch
  std::vector<std::vector<Slot>> slots;
  for (int stage = 0; stage < stages; ++stage)
    slots.push_back(order_of(plan.schedule).slots(stage, stages, plan.micro_batches, chunks));
  std::vector<std::size_t> next(slots.size(), 0);
  std::vector<double> free(slots.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < slots.size(); ++stage) {
      while (next[stage] < slots[stage].size()) {
        const Slot& slot = slots[stage][next[stage]];
        const int chunk = slot.chunk * stages + static_cast<int>(stage);
        if (slot.pass != SlotPass::weight_gradient) {
          const bool backward = slot.pass == SlotPass::input_gradient;
          const bool is_outer = chunk == (backward ? all - 1 : 0);
          const auto before = is_outer ? std::tuple(false, chunk, slot.micro_batch)
                                       : std::tuple(backward, chunk + (backward ? 1 : -1), slot.micro_batch);
          double ready = 0;
          if (backward || !is_outer) {
            const auto known = done.find(before);
            if (known == done.end()) break;
            ready = known->second;
          }
          free[stage] = std::max(free[stage], ready) + time_of(chunk, backward);
          done[{backward, chunk, slot.micro_batch}] = free[stage];
        }
        ++next[stage];
        moved = true;
      }
    }
  }
  return *std::max_element(free.begin(), free.end());
}

}  // namespace

TEST_CASE("virtual stages of equal layouts are those of one layout") {
  const Training training("gpt2", 8, true);
  Plan plan = plan_on(data, 32);
  plan.micro_batches = 8;
  plan.virtual_stages = 3;
  const Estimate uniform = training.estimator.estimate(plan);
  plan.segments = {{40, data}, {90, data}};
  const Estimate segments = training.estimator.estimate(plan);
  REQUIRE(uniform.time.step_time().value() > 0);
  CHECK(segments.time.step_time().value() == Approx(uniform.time.step_time().value()).epsilon(1e-9));
  CHECK(segments.memory.total().value() == Approx(uniform.memory.total().value()).epsilon(1e-9));
}

TEST_CASE("each chunk has layers of its own, and a stage every p-th chunk") {
  const Training training("gpt2", 8, false);
  const Estimator& estimator = training.estimator;
  const Plan plan = split_from(training, 6);
  REQUIRE(estimator.limits(plan).empty());
  const std::vector<int>& firsts = estimator.stages(plan);
  REQUIRE(firsts.size() == 13);
  CHECK(std::is_sorted(firsts.begin(), firsts.end()));
  std::vector<bool> held(training.owned.model.layers.size());
  double parameters = 0;
  for (int stage = 0; stage < 4; ++stage) {
    std::vector<int> begins;
    each_chunk(firsts, plan, stage, [&](int first, int last) {
      begins.push_back(first);
      for (int layer = first; layer < last; ++layer) held[static_cast<std::size_t>(layer)] = true;
      parameters += estimator.tables().costs(plan).between(first, last)[LayerCount::parameters];
    });
    const auto at = static_cast<std::size_t>(stage);
    CHECK(begins == std::vector<int>{firsts[at], firsts[at + 4], firsts[at + 8]});
  }
  CHECK(std::all_of(held.begin(), held.end(), [](bool each) { return each; }));
  CHECK(parameters == Approx(estimator.tables().costs(plan).total()[LayerCount::parameters]));
}

TEST_CASE("a step with unequal chunks takes about as long as its simulated schedule") {
  for (const std::string model : {"gpt2", "gpt2@layers=24"}) {
    const Training training(model, 8, false);
    for (const int block : {1, 3, 6, 11}) {
      const Plan plan = split_from(training, block);
      const Estimate estimate = training.estimator.estimate(plan);
      REQUIRE(estimate.time.step_time().value() > 0);
      const double predicted = (estimate.time[Part::forward] + estimate.time[Part::backward] +
                                estimate.time[Part::layer_collectives] + estimate.time[Part::bubble])
                                   .value();
      INFO(fmt::format("{} split from block {}", model, block));
      CHECK(predicted == Approx(simulated(training.estimator, plan)).epsilon(0.1));
    }
  }
}

TEST_CASE("chunks need about as much memory as whole stages with the same layouts") {
  const Training training("gpt2", 8, false);
  const Estimator& estimator = training.estimator;
  const Plan plan = split_from(training, 6);
  // What is unknown about a process is not counted once for each chunk.
  Plan without = plan;
  without.virtual_stages = 1;
  const MemoryBreakdown chunks = estimator.estimate(plan).memory, one = estimator.estimate(without).memory;
  CHECK(chunks.total().value() == Approx(one.total().value()).epsilon(0.2));
  CHECK(chunks.uncertainty < one.uncertainty * 1.5);
}

TEST_CASE("the search finds the fastest layouts and number of virtual stages") {
  int compared = 0;
  for (const std::int64_t batch : {8, 16}) {
    for (const int devices_of_node : {2, 4}) {
      const Training training("gpt2@layers=4", devices_of_node, false, 80e9);
      const Estimator& estimator = training.estimator;
      const std::vector<Mesh> meshes{Mesh{{Axis::data, 4}, {Axis::pipeline, 2}},
                                     Mesh{{Axis::tensor, 4}, {Axis::pipeline, 2}}};
      const std::vector<int> firsts = unit_graph(training.owned.facts).firsts;
      Plan alike = plan_on(meshes.front(), batch);
      alike.micro_batches = 2;
      std::optional<Estimate> best;
      for (const int chunks : {1, 2}) {
        for (std::size_t choice = 0; choice < std::size_t{1} << firsts.size(); ++choice) {
          Plan plan = on_mesh(alike, meshes[choice & 1U]);
          plan.virtual_stages = chunks;
          for (std::size_t unit = 1; unit < firsts.size(); ++unit)
            plan.segments.push_back({firsts[unit], meshes[choice >> unit & 1U]});
          join_segments(plan);
          const Estimate estimate = estimator.estimate(plan);
          if (estimate.feasible() && (!best || estimate.time.step_time() < best->time.step_time())) best = estimate;
        }
      }
      REQUIRE(best);
      if (best->plan.segments.empty()) continue;
      SearchOptions options;
      options.devices = 8;
      options.global_batch = batch;
      for (const Mesh& mesh : meshes) options.families.push_back({mesh.family(), std::nullopt});
      const std::optional<Estimate> found = best_by_layer(estimator, options, alike);
      REQUIRE(found);
      ++compared;
      INFO(fmt::format("B = {}, nodes of {}: {} virtual stages", batch, devices_of_node, best->plan.virtual_stages));
      CHECK(found->time.step_time() <= best->time.step_time() * 1.01);
    }
  }
  CHECK(compared >= 1);
}

}  // namespace stage_chunks_tests
