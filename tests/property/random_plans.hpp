#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/random.hpp"

/// Small random models, machines and plans, for properties of estimates and searches.
namespace ddl {

/// Relative tolerance of two sums of the same terms in different orders.
inline constexpr double rounding = 1 + 1e-12;

inline Model residual_images() {
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

inline Model volumes() {
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

inline Model tokens() {
  return parse_model(R"(format: 1
model: tokens
family: gpt
parameters: {layers: 4, hidden: 96, heads: 12, vocabulary: 1000, tokens: 64}
)",
                     "tokens.yaml");
}

inline Model perceptron() {
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

/// Returns a model in which two layers read the batch, which has no gradient to exchange. A window
/// is longer than it is wide.
inline Model two_readers() {
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

/// Returns a model that halves and then doubles its extents, with operations of U-shaped and mobile networks.
inline Model u_shaped() {
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

inline std::vector<Model> some_models() {
  std::vector<Model> models;
  models.push_back(u_shaped());
  models.push_back(two_readers());
  models.push_back(residual_images());
  models.push_back(volumes());
  models.push_back(tokens());
  models.push_back(perceptron());
  return models;
}

/// Returns a machine with nodes of four devices and two NICs, three nodes per leaf switch, and an over-subscribed spine.
inline Machine three_levels() {
  Machine machine;
  machine.name = "three-levels";
  machine.device.name = "device";
  machine.device.peak[Precision::fp32] = FlopRate(10e12);
  machine.device.peak[Precision::fp16] = FlopRate(40e12);
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

/// Returns a machine with one node of eight devices, a tile of one, and links that are slow enough to affect plans.
inline Machine slow_links() {
  Machine machine = three_levels();
  machine.name = "slow-links";
  machine.device.tile = 1;
  machine.levels.clear();
  machine.levels.push_back({"node", 8, Seconds(20e-6), Bandwidth(2e9), 1});
  machine.levels.push_back({"system", 16, Seconds(60e-6), Bandwidth(0.5e9), 1});
  machine.host.reset();
  return machine;
}

/// Returns coefficients with the measured software of ABCI: layer-wise exchanges through the host,
/// fixed algorithms, no overlap.
inline Coefficients abci_coefficients() { return bundled_coefficients("abci").value(); }

/// Returns any plan of these devices that the shape of a model may allow.
inline Plan random_plan(Random& random, int devices, bool extents) {
  Plan plan;
  const auto taken = [&] {
    std::vector<int> divisors;
    for (int d = 1; d <= devices; ++d) {
      if (devices % d == 0) divisors.push_back(d);
    }
    const int degree = random.of(divisors);
    devices /= degree;
    return degree;
  };
  Tiles tiles = plan.mesh.tiles();
  if (extents && random.chance()) tiles[0] = taken();
  if (extents && random.chance()) tiles[1] = taken();
  plan.mesh.set_tiles(tiles);
  if (random.chance()) plan.mesh.set(Axis::pipeline, taken());
  if (random.chance()) {
    plan.mesh.set(Axis::tensor, taken());
  } else {
    if (random.chance()) plan.mesh.set(Axis::filter, taken());
    if (random.chance()) plan.mesh.set(Axis::channel, taken());
  }
  plan.mesh.set(Axis::data, devices);
  plan.micro_batches = random.of(std::vector<std::int64_t>{1, 2, 3, 4, 8});
  plan.global_batch = plan.mesh[Axis::data] * plan.micro_batches * random.whole(1, 4);
  plan.zero_stage = random.whole(0, 3);
  plan.recompute = random.of(std::vector{Recompute::none, Recompute::selective, Recompute::full});
  // The number depends on the samples and not on a further random number, so that all other plans stay unchanged.
  if (plan.recompute == Recompute::full) plan.recompute_blocks = static_cast<int>(plan.global_batch % 3);
  plan.schedule = random.chance() ? Schedule::gpipe : Schedule::one_forward_one_backward;
  // The schedule depends on the samples of a micro-batch and not on a further random number, so
  // that all other plans stay unchanged.
  const std::vector fillers{Schedule::one_forward_one_backward, Schedule::zero_bubble, Schedule::zero_bubble_v,
                            Schedule::dual_pipe};
  const auto samples = static_cast<std::size_t>(plan.global_batch / plan.mesh[Axis::data] / plan.micro_batches);
  if (plan.schedule != Schedule::gpipe && plan.mesh[Axis::pipeline] > 1) plan.schedule = fillers[samples - 1];
  const bool has_groups = plan.zero_stage > 0 && plan.mesh[Axis::data] > 2 && plan.mesh[Axis::data] % 2 == 0;
  if (has_groups && samples % 2 == 0) plan.shard_group = 2;
  if (has_groups && plan.may_have_second_copy()) plan.secondary_shards = 2;
  plan.optimizer = random.of(std::vector{Optimizer::sgd, Optimizer::momentum, Optimizer::adam});
  std::shuffle(plan.placement.begin(), plan.placement.end(), random.engine());
  return plan;
}

inline std::string text_of(const Plan& plan) {
  return fmt::format("{} ({}), B = {}, S = {}, {}, ZeRO-{}, recompute {}, {}", degrees_text(plan.mesh), placement_text(plan),
                     plan.global_batch, plan.micro_batches, to_string(plan.schedule), plan.zero_stage,
                     to_string(plan.recompute), to_string(plan.optimizer));
}

inline std::vector<Seconds> parts_of(const Breakdown& time) {
  return {time[Part::forward],
          time[Part::backward],
          time[Part::weight_update],
          time[Part::gradient_exchange],
          time[Part::layer_collectives],
          time[Part::halo],
          time[Part::pipeline],
          time[Part::bubble],
          time[Part::input],
          time[Part::waiting]};
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

}  // namespace ddl
