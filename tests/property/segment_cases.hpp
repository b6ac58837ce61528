#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/owned_job.hpp"

namespace segments_tests {

using namespace ddl;

/// Nodes of V100 GPUs: 15.7 TFLOP/s in fp32 and 900 GB/s [NVIDIA, V100 datasheet], two EDR rails of 12.5 GB/s a node.
inline Machine nodes_of(int devices, double memory) {
  Machine machine;
  machine.name = "nodes";
  machine.device.name = "device";
  machine.device.peak[Precision::fp32] = FlopRate(15.7e12);
  machine.device.peak[Precision::fp16] = FlopRate(125e12);
  machine.device.memory = Bytes(memory);
  machine.device.memory_bandwidth = Bandwidth(900e9);
  machine.levels.push_back({"node", devices, Seconds(5e-6), Bandwidth(50e9), 1});
  machine.levels.push_back({"system", 64, Seconds(5e-6), Bandwidth(12.5e9), 2});
  return machine;
}

inline Assumptions assumptions_of(bool overlap) {
  Assumptions assumptions;
  assumptions.overlap = overlap;
  assumptions.host_launch = overlap;
  return assumptions;
}

/// A model on such nodes.
struct Training {
  Training(Model model, int devices_of_node, bool overlap, double memory = 16e9)
      : owned(std::move(model), nodes_of(devices_of_node, memory), assumptions_of(overlap), 1e6), estimator(owned.job) {}
  Training(const std::string& model, int devices_of_node, bool overlap, double memory = 16e9)
      : Training(load_model(model), devices_of_node, overlap, memory) {}
  OwnedJob owned;
  Estimator estimator;
};

inline Plan plan_on(const Mesh& mesh, std::int64_t batch) {
  Plan plan;
  plan.mesh = mesh;
  plan.global_batch = batch;
  plan.optimizer = Optimizer::momentum;
  return plan;
}

using Texts = std::vector<std::string>;

inline Texts exchanges_of(const Estimator& estimator, const Plan& plan, int layer) {
  Texts texts;
  for (const Exchange& exchange : estimator.tables().costs(plan).detail(layer, false).shard.exchanges) {
    if (exchange.phase == Phase::gradient || exchange.purpose == Purpose::pipeline) continue;
    texts.push_back(fmt::format("{} {} of {} among {}", exchange.phase == Phase::forward ? "forward" : "backward",
                                to_string(exchange.operation), exchange.items, family_name(exchange.axes)));
  }
  return texts;
}

/// A U-Net of three levels for volumes of `size`³, with two skip connections.
inline Model small_u_net(int size) {
  return parse_model(fmt::format(R"(format: 1
model: small-u-net
input: {{channels: 1, size: {0}x{0}x{0}}}
layers:
  - convolution: {{filters: 32, kernel: 3, padding: 1}}
    name: down1
  - convolution: {{filters: 256, kernel: 3, stride: 2, padding: 1}}
    name: down2
  - convolution: {{filters: 1024, kernel: 3, stride: 2, padding: 1}}
    name: bottom
  - transposed_convolution: {{filters: 256, kernel: 2, stride: 2}}
    name: larger2
  - concat:
    from: [larger2, down2]
  - convolution: {{filters: 256, kernel: 3, padding: 1}}
    name: up2
  - transposed_convolution: {{filters: 32, kernel: 2, stride: 2}}
    name: larger1
  - concat:
    from: [larger1, down1]
  - convolution: {{filters: 32, kernel: 3, padding: 1}}
    name: up1
  - convolution: {{filters: 4, kernel: 1}}
    name: classes
  - loss: cross_entropy
)",
                                 size),
                     "small-u-net.yaml");
}

}  // namespace segments_tests
