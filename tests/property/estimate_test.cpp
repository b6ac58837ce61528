#include "estimator/step/estimate.hpp"

#include <algorithm>
#include <vector>

#include "calibration/runs/time_errors_file.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/explain/throughput.hpp"
#include "estimator/search/memory_bounds.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/step/step_sensitivity.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/packed_sequences.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/property/random_plans.hpp"

namespace estimate_tests {

namespace {

using namespace ddl;

TEST_CASE("the parts of every breakdown are at least zero and add up to the step, and D/B steps are an epoch") {
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
    REQUIRE(estimate.time.step_time().value() == Approx(sum).epsilon(1e-12));
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

TEST_CASE("without a barrier, the parts of a step add up, and a slow worker delays its own batches only") {
  int compared = 0;
  for_random_plans(23, 200, [&](const OwnedJob& owned, const Plan& plan) {
    if (plan.zero_stage > 0 || plan.tables != Tables::replicated || plan.mesh[Axis::data] == 1) return;
    if (plan.mesh.replicas() != plan.mesh[Axis::data] || owned.assumptions.linear_kernels) return;
    const auto step = [&](Synchronization way, double straggler) {
      Assumptions assumptions = owned.assumptions;
      assumptions.synchronization = way;
      assumptions.straggler = straggler;
      const Estimate estimate = Estimator(owned.job.with_assumptions(assumptions)).estimate(plan);
      double sum = 0;
      for (const Seconds part : parts_of(estimate.time)) {
        REQUIRE(std::isfinite(part.value()));
        REQUIRE(part.value() >= 0);
        sum += part.value();
      }
      REQUIRE(estimate.time.step_time().value() == Approx(sum).epsilon(1e-12));
      return sum;
    };
    for (const Synchronization way : {Synchronization::async, Synchronization::async_gossip}) {
      const double usual = step(way, 1), slow = step(way, 3);
      REQUIRE(usual <= slow * (1 + 1e-12));
      // One of P workers never costs more than its own batches: P / (P − 1).
      const double workers = plan.mesh[Axis::data];
      REQUIRE(slow <= usual * workers / (workers - 1) * (1 + 1e-12));
    }
    REQUIRE(step(Synchronization::async, 3) <= step(Synchronization::stale, 3) * (1 + 1e-12));
    ++compared;
  });
  REQUIRE(compared > 50);
}

TEST_CASE("hardware FLOPs equal model FLOPs, and exceed them only if a plan recomputes") {
  int again = 0;
  for_random_plans(11, 200, [&](const OwnedJob& owned, const Plan& plan) {
    const SampleFlops flops = sample_flops(owned.facts);
    const Estimate estimate = Estimator(owned.job).estimate(plan);
    const std::optional<Throughput> throughput = throughput_of(owned.job, flops, estimate);
    REQUIRE(throughput.has_value());
    REQUIRE(std::isfinite(throughput->model.value()));
    REQUIRE(throughput->model.value() > 0);
    REQUIRE(throughput->hardware >= throughput->model);
    if (plan.recompute == Recompute::none) REQUIRE(throughput->hardware == throughput->model);
    if (throughput->hardware > throughput->model) ++again;
    // No pass is recomputed more than once.
    REQUIRE(throughput->hardware <= throughput->model * 2);
    REQUIRE(throughput->tokens.has_value() == owned.model.input.sequence);
    REQUIRE(throughput->model_share.has_value() == throughput->hardware_share.has_value());
    if (!throughput->model_share) return;
    REQUIRE(std::isfinite(*throughput->hardware_share));
    REQUIRE(*throughput->hardware_share >= *throughput->model_share);
    // All devices together execute a step's FLOPs in the step's time.
    const double all = throughput->model.value() * static_cast<double>(plan.mesh.devices());
    REQUIRE(all * estimate.time.step_time().value() ==
            Approx(flops.model() * static_cast<double>(plan.global_batch)).epsilon(1e-9));
  });
  REQUIRE(again > 20);
}

TEST_CASE("on one device every strategy, placement, schedule and ZeRO stage is serial") {
  Random random(2);
  for (const Model& model : some_models()) {
    const OwnedJob owned(model, three_levels(), Assumptions{}, 1000.0);
    const Estimator estimator(owned.job);
    Plan serial;
    serial.global_batch = 12;
    const Estimate expected = estimator.estimate(serial);
    // A serial step consists of all kernels at the batch of 12 and the update.
    REQUIRE(expected.time.step_time() == expected.time.compute());
    for (int i = 0; i < 50; ++i) {
      Plan plan = serial;
      plan.zero_stage = random.whole(0, 3);
      plan.schedule = random.chance() ? Schedule::gpipe : Schedule::one_forward_one_backward;
      std::shuffle(plan.placement.begin(), plan.placement.end(), random.engine());
      INFO(model.name << ": " << text_of(plan));
      const Estimate estimate = estimator.estimate(plan);
      REQUIRE(plan.mesh.family() == 0);
      REQUIRE(estimate.feasible());
      REQUIRE(estimate.time.step_time() == expected.time.step_time());
      REQUIRE(estimate.memory.total() == expected.memory.total());
    }
  }
}

Seconds step_time_of(const OwnedJob& owned, const Plan& plan, const Machine& machine) {
  const OwnedJob other(owned.model, machine, owned.assumptions, owned.job.samples_per_epoch);
  const Estimate estimate = Estimator(other.job).estimate(plan);
  return estimate.time.step_time();
}

TEST_CASE("no plan takes longer for a faster link or a shorter start-up") {
  for_random_plans(3, 60, [&](const OwnedJob& owned, const Plan& plan) {
    const Seconds before = step_time_of(owned, plan, owned.machine);
    for (std::size_t level = 0; level < owned.machine.levels.size(); ++level) {
      Machine faster = owned.machine;
      faster.levels[level].bandwidth *= 1.7;
      REQUIRE(step_time_of(owned, plan, faster) <= before * rounding);
      Machine prompter = owned.machine;
      prompter.levels[level].latency *= 0.3;
      REQUIRE(step_time_of(owned, plan, prompter) <= before * rounding);
      Machine wider = owned.machine;
      wider.levels[level].rails *= 2;
      REQUIRE(step_time_of(owned, plan, wider) <= before * rounding);
    }
  });
}

TEST_CASE("slowdown by overlap lengthens plans, but not beyond running one after the other") {
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
    const Seconds plain = Estimator(owned.job).estimate(plan).time.step_time();
    const Seconds after = estimate(1, 1, std::nullopt, false).time.step_time();
    REQUIRE(estimate(1, 1, std::nullopt).time.step_time() == plain);
    REQUIRE(estimate(1, 1, true).time.step_time() == plain);
    for (std::size_t i = 0; i < factors.size(); ++i) {
      for (std::size_t j = 0; j < factors.size(); ++j) {
        INFO("kernels " << factors[i] << ", exchange " << factors[j]);
        const Estimate best = estimate(factors[i], factors[j], std::nullopt);
        const Estimate always = estimate(factors[i], factors[j], true);
        REQUIRE(best.time.step_time() >= plain / rounding);
        REQUIRE(best.time.step_time() <= after * rounding);
        // The default overlaps only if the factors pay. A stage of a pipeline also waits for others, which costs no
        // slowdown.
        if (plan.mesh[Axis::pipeline] == 1) REQUIRE(best.time.step_time() <= always.time.step_time() * rounding);
        REQUIRE(best.hidden_exchange.value() >= 0);
        if (best.time.step_time() > plain * rounding) ++lengthened;
        for (const auto& [less_of_kernels, less_of_exchange] :
             {std::pair(i > 0 ? i - 1 : 0, j), std::pair(i, j > 0 ? j - 1 : 0)}) {
          for (const std::optional<bool> overlaps : {std::optional<bool>(), std::optional(true)}) {
            const Seconds less = estimate(factors[less_of_kernels], factors[less_of_exchange], overlaps).time.step_time();
            REQUIRE(less <= (overlaps ? always : best).time.step_time() * rounding);
          }
        }
      }
    }
  });
  REQUIRE(lengthened > 100);
}

// Pipelines are excluded, because layers are assigned to stages by their times on one device, which
// a faster device may change.
TEST_CASE("no plan without a pipeline takes longer on a device of higher peak or memory bandwidth") {
  for_random_plans(4, 100, [&](const OwnedJob& owned, const Plan& plan) {
    if (plan.mesh[Axis::pipeline] > 1) return;
    const Seconds before = step_time_of(owned, plan, owned.machine);
    Machine stronger = owned.machine;
    for (std::optional<FlopRate>& peak : stronger.device.peak) {
      if (peak) *peak *= 1.9;
    }
    REQUIRE(step_time_of(owned, plan, stronger) <= before * rounding);
    Machine faster = owned.machine;
    faster.device.memory_bandwidth *= 1.9;
    REQUIRE(step_time_of(owned, plan, faster) <= before * rounding);
  });
}

TEST_CASE("earlier estimates do not change a plan's estimate") {
  int compared = 0;
  for_random_plans(12, 60, [&](const OwnedJob& owned, const Plan& plan) {
    const Estimator asked_all(owned.job);
    std::vector<Estimate> shared;
    for (int stage = 0; stage <= 3; ++stage) {
      for (const Recompute recompute : {Recompute::none, Recompute::full, Recompute::selective}) {
        for (const bool is_turned : {false, true}) {
          Plan other = plan;
          other.zero_stage = stage;
          other.recompute = recompute;
          if (recompute == Recompute::selective && is_turned) other.recompute_modules = owned.facts.has_modules;
          if (other.recompute_modules.is_empty()) other.recompute_modules = Plan().recompute_modules;
          if (is_turned) std::rotate(other.placement.begin(), other.placement.begin() + 1, other.placement.end());
          shared.push_back(asked_all.estimate(other));
        }
      }
    }
    add_intervals(asked_all, shared, bundled_time_errors());
    for (const Estimate& known : shared) {
      INFO(owned.model.name << ": " << text_of(known.plan));
      const Estimator asked_once(owned.job);
      Estimate alone = asked_once.estimate(known.plan);
      add_intervals(asked_once, alone, bundled_time_errors());
      REQUIRE(known.time.step_time() == alone.time.step_time());
      for (const MemoryItem item : enum_values<MemoryItem>)
        REQUIRE(known.memory.of(item).value() == Approx(alone.memory.of(item).value()).epsilon(1e-12).margin(1e-3));
      REQUIRE(known.memory.upper_bound().value() == Approx(alone.memory.upper_bound().value()).epsilon(1e-12));
      REQUIRE(known.interval.has_value() == alone.interval.has_value());
      if (!known.interval) continue;
      REQUIRE(known.interval->low == alone.interval->low);
      REQUIRE(known.interval->high == alone.interval->high);
      ++compared;
    }
  });
  CHECK(compared > 500);
}

TEST_CASE("memory hardly grows with the ZeRO stage or with recomputation") {
  for_random_plans(5, 200, [&](const OwnedJob& owned, const Plan& original) {
    const Estimator estimator(owned.job);
    Plan plan = original;
    // Without shard groups, which have their own communicator.
    plan.shard_group = 0;
    plan.secondary_shards = 0;
    plan.recompute_blocks = 0;
    // A rank's shard of a layer's gradients exists in addition to the whole gradients while these are scattered. The
    // gradient of a block's output exists in addition while the block is recomputed.
    double largest_layer = 0, largest_output = 0;
    for (const Layer& layer : owned.model.layers) {
      largest_layer = std::max(largest_layer, static_cast<double>(layer.parameters()));
      largest_output = std::max(largest_output, static_cast<double>(layer.output_shape.items()));
    }
    const Bytes shard(4 * largest_layer / plan.mesh.replicas() + 1024);
    const Bytes gradient(4 * largest_output * samples_per_micro_batch(plan) + 1024);
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      plan.recompute = recompute;
      for (int stage = 1; stage <= 3; ++stage) {
        plan.zero_stage = stage - 1;
        const Bytes less_sharded = estimator.estimate(plan).memory.total();
        plan.zero_stage = stage;
        REQUIRE(estimator.estimate(plan).memory.total() <= less_sharded * rounding + (stage == 2 ? shard : Bytes{}));
      }
    }
    for (int stage = 0; stage <= 3; ++stage) {
      plan.zero_stage = stage;
      plan.recompute = Recompute::none;
      const Bytes kept = estimator.estimate(plan).memory.total();
      plan.recompute = Recompute::full;
      REQUIRE(estimator.estimate(plan).memory.total() <= kept * rounding + gradient);
    }
  });
}

TEST_CASE(
    "a second copy of weights takes the memory of one copy over its ranks, and the time of ZeRO-3 if all ranks share it") {
  for_random_plans(7, 80, [&](const OwnedJob& owned, const Plan& original) {
    const Estimator estimator(owned.job);
    const TimeBounds bounds(estimator);
    Plan plan = original;
    plan.zero_stage = 3;
    plan.shard_group = 0;
    plan.secondary_shards = 0;
    const int data = plan.mesh[Axis::data];
    if (data == 1) return;
    const Estimate none = estimator.estimate(plan);
    plan.secondary_shards = data;
    const Estimate all = estimator.estimate(plan);
    REQUIRE(all.time.step_time() == none.time.step_time());
    const double shard = (all.memory.weights - none.memory.weights).value();
    // In a pipeline, another stage may need the most memory.
    const bool is_one_stage = plan.mesh[Axis::pipeline] == 1;
    REQUIRE((shard > 0 || !is_one_stage));
    // Neighbors in a node are not slower than all ranks together.
    const bool are_neighbours = placement_text(plan).starts_with("data") && plan.mesh.replicas() == data;
    const int node = owned.machine.devices_per_node();
    for (int ranks = 2; ranks < data; ++ranks) {
      if (data % ranks != 0) continue;
      plan.secondary_shards = ranks;
      const Estimate some = estimator.estimate(plan);
      const double copy = (some.memory.weights - none.memory.weights).value();
      if (is_one_stage) REQUIRE(copy == Approx(shard * data / ranks).epsilon(1e-6));
      REQUIRE(some.memory.total() > none.memory.total());
      if (are_neighbours && node % ranks == 0) REQUIRE(some.time.step_time() <= none.time.step_time() * rounding);
      REQUIRE(bounds.least(Closeness::placement, plan) <= some.time.step_time() * rounding);
      REQUIRE(memory_lower_bound(estimator.job(), plan) <= some.memory.total() * rounding);
    }
  });
}

TEST_CASE("the shorter packed documents are, the less time attention takes, with the whole sequence as the maximum") {
  const auto packed = [](std::int64_t tokens) {
    Model model = parse_model(R"(format: 1
model: transformer
family: llama
parameters: {layers: 2, hidden: 256, heads: 8, feed_forward: 512, vocabulary: 1024, tokens: 2048}
)",
                              "transformer.yaml");
    if (tokens > 0) pack_sequences(model, tokens);
    return model;
  };
  const OwnedJob whole(packed(0), three_levels(), Assumptions{}, 54321.0, std::nullopt, Precision::bf16, Optimizer::adam);
  Random random(8);
  int priced = 0;
  for (int i = 0; i < 60; ++i) {
    Plan plan = random_plan(random, random.of(std::vector{1, 2, 4, 8, 16}), false);
    plan.precision = Precision::bf16;
    plan.optimizer = Optimizer::adam;
    if (!Estimator(whole.job).limits(plan).empty()) continue;
    INFO(text_of(plan));
    const Estimate unpacked = Estimator(whole.job).estimate(plan);
    Seconds before = unpacked.time.step_time();
    double flops_before = sample_flops(whole.facts).model();
    for (std::int64_t tokens = 2048; tokens >= 64; tokens /= 2) {
      const OwnedJob owned(packed(tokens), three_levels(), Assumptions{}, 54321.0, std::nullopt, Precision::bf16,
                           Optimizer::adam);
      const Estimate estimate = Estimator(owned.job).estimate(plan);
      const double flops = sample_flops(owned.facts).model();
      if (tokens == 2048) {
        REQUIRE(estimate.time.step_time() == before);
        REQUIRE(flops == flops_before);
      }
      REQUIRE(estimate.time.step_time() <= before * rounding);
      REQUIRE((tokens == 2048 || flops < flops_before));
      REQUIRE(estimate.memory.total() == unpacked.memory.total());
      before = estimate.time.step_time();
      flops_before = flops;
      ++priced;
    }
    REQUIRE(before < unpacked.time.step_time());
  }
  REQUIRE(priced > 60);
}

TEST_CASE("the more blocks are recomputed, the more time and the less memory, up to all of them") {
  for_random_plans(6, 60, [&](const OwnedJob& owned, const Plan& original) {
    const Estimator estimator(owned.job);
    Plan plan = original;
    plan.recompute = Recompute::none;
    plan.recompute_blocks = 0;
    const Estimate none = estimator.estimate(plan);
    if (none.time.step_time().value() <= 0) return;
    plan.recompute = Recompute::full;
    const Estimate all = estimator.estimate(plan);
    const SampleFlops flops = sample_flops(owned.facts);
    double largest_output = 0;
    for (const Layer& layer : owned.model.layers)
      largest_output = std::max(largest_output, static_cast<double>(layer.output_shape.items()));
    const Bytes gradient(4 * largest_output * samples_per_micro_batch(plan) + 1024);
    Estimate before = none;
    double flops_before = flops.model();
    for (int blocks = 1; blocks <= owned.model.blocks + 1; ++blocks) {
      plan.recompute_blocks = blocks;
      const Estimate some = estimator.estimate(plan);
      REQUIRE(some.time.step_time() * rounding >= before.time.step_time());
      REQUIRE(some.memory.total() <= before.memory.total() * rounding + gradient);
      const double own = flops.hardware(plan, some.recomputed_share);
      REQUIRE(own * rounding >= flops_before);
      flops_before = own;
      before = some;
    }
    // The number of blocks, and one more, both mean all blocks.
    REQUIRE(before.time.step_time().value() == Approx(all.time.step_time().value()).epsilon(1e-9));
    REQUIRE(before.memory.total() == all.memory.total());
    REQUIRE(flops_before == Approx(flops.hardware(plan)));
  });
}

TEST_CASE("recomputation adds forward of blocks, and no plan gets faster") {
  for_random_plans(6, 100, [&](const OwnedJob& owned, const Plan& original) {
    const Estimator estimator(owned.job);
    Plan plan = original;
    plan.recompute_blocks = 0;
    plan.recompute = Recompute::none;
    const Breakdown once = estimator.estimate(plan).time;
    plan.recompute = Recompute::full;
    const Breakdown twice = estimator.estimate(plan).time;
    REQUIRE(twice.step_time() * rounding >= once.step_time());
    if (plan.mesh[Axis::pipeline] > 1 || once.step_time().value() <= 0) return;
    double again = 0;
    for (const LayerExplanation& layer : explain(estimator, plan).layers) {
      const bool in_block = owned.model.layers[static_cast<std::size_t>(layer.layer)].block >= 0;
      REQUIRE(layer.runs_again == in_block);
      if (in_block) again += layer.costs[LayerTime::forward].value() * static_cast<double>(plan.micro_batches);
    }
    REQUIRE(twice[Part::backward].value() == Approx(once[Part::backward].value() + again).epsilon(1e-9));
  });
}

}  // namespace

}  // namespace estimate_tests
