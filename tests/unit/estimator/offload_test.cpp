// Tests offloading to host memory, and the time of the transfers.

#include "estimator/explain/findings.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/memory/unmodeled.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// Returns nodes of four devices. Two devices share a link of 1 MB/s to a host with a memory bandwidth of 4 MB/s.
Machine with_host(Machine machine = nodes_of_four()) {
  machine.host = HostPath{Bandwidth(1e6), 2, Seconds(0), Bandwidth(4e6)};
  return machine;
}

Assumptions without_input() {
  Assumptions assumptions;
  assumptions.overlap = false;
  assumptions.include_input = false;
  return assumptions;
}

constexpr const char* blocks = R"(format: 1
model: blocks
input: {features: 100}
blocks:
  part:
    checkpoint: yes
    layers:
      - fully_connected: {features: 100, bias: no}
layers:
  - repeat: {times: 8, layers: [{block: part}]}
)";

struct Blocks : OwnedJob {
  explicit Blocks(Machine a_machine)
      : OwnedJob(parse_model(blocks, "blocks.yaml"), std::move(a_machine), without_input(), 1000, std::nullopt,
                 Precision::fp32, Optimizer::adam) {}
  [[nodiscard]] Estimate estimate(const Plan& plan) const { return Estimator(job).estimate(plan); }
};

Plan plan_of(Offload offload, int data = 1, int zero_stage = 0) {
  Plan plan;
  plan.mesh.set(Axis::data, data);
  plan.global_batch = 400;
  plan.optimizer = Optimizer::adam;
  plan.offload = offload;
  plan.zero_stage = zero_stage;
  return plan;
}

TEST_CASE("sharded weights may be gathered by blocks: the current and the next one, and copied from the host before") {
  const Blocks owned(with_host());
  const auto more = [&](Offload offload, int data, int zero_stage) {
    const Plan plan = plan_of(offload, data, zero_stage);
    const Estimator estimator(owned.job);
    return most_gathered(estimator.stage(plan, 0)).value();
  };
  // A block has 10,000 weights of 4 bytes. Two are 80,000 bytes, of which the estimate has three quarters of one block.
  CHECK(more(Offload::none, 4, 3) == Approx(80000 - 30000));
  CHECK(more(Offload::none, 4, 2) == 0);
  CHECK(more(Offload::none, 1, 3) == 0);
  // From the host, the estimate has two blocks, and the rank's quarter of them is copied first.
  CHECK(more(Offload::weights, 4, 3) == Approx(20000));
  CHECK(more(Offload::weights, 1, 0) == 0);
}

TEST_CASE("the optimizer in host memory: no state on the device, gradients are copied out, and weights are copied in") {
  const Blocks owned(with_host());
  const Estimate on = owned.estimate(plan_of(Offload::none)), off = owned.estimate(plan_of(Offload::optimizer));
  REQUIRE(off.feasible());
  CHECK(on.memory.optimizer.value() == 8 * 80000);
  CHECK(off.memory.optimizer.value() == 0);
  CHECK(off.memory.weights == on.memory.weights);
  // Backward copies the gradients of each layer of 10,000 parameters to the host, and then frees them.
  CHECK(on.memory.gradients.value() >= 2 * 40000);
  CHECK(off.memory.gradients.value() <= 40000);
  // For each of 80,000 parameters, 4 bytes of gradient are copied to the host and 4 bytes of weight are copied back, over
  // half a link. The host reads weight, gradient and two moments, and writes all but the gradient: 28 bytes, at half of the
  // memory's bandwidth, which one process fills.
  CHECK(off.time[Part::weight_update].value() == Approx(80000 * 8 / 0.5e6 + 80000 * 28 / 2e6));
  // ZeRO-1 divides the update among four ranks of the node, each of which has its own shard and a quarter of the bandwidth.
  const Estimate shared = owned.estimate(plan_of(Offload::optimizer, 4, 1));
  CHECK(shared.time[Part::weight_update].value() == Approx(20000 * 8 / 0.5e6 + 20000 * 28 / 1e6));
}

TEST_CASE("without a stated bandwidth, ranks share the host's memory, and one of eight does not have an eighth of it") {
  Machine machine = with_host();
  machine.levels.front().units = 8;
  machine.device.memory_bandwidth = Bandwidth(1e15);
  machine.host->bandwidth = Bandwidth(1e18);
  machine.host->memory_bandwidth.reset();
  const Blocks owned(machine);
  const auto update = [&](int data) {
    return owned.estimate(plan_of(Offload::optimizer, data, 1)).time[Part::weight_update].value();
  };
  CHECK(update(1) == Approx(80000 * 28 / 100e9));
  CHECK(update(8) == Approx(10000 * 28 / 25e9));
}

TEST_CASE("weights in host memory are on the device for two layers, and are copied in for forward and for backward") {
  const Blocks owned(with_host());
  const Estimate on = owned.estimate(plan_of(Offload::optimizer)), off = owned.estimate(plan_of(Offload::weights));
  CHECK(off.memory.weights.value() == 2 * 40000);
  CHECK(on.memory.weights.value() == 8 * 40000);
  CHECK((off.time.step_time() - on.time.step_time()).value() == Approx(2 * 8 * 40000 / 0.5e6));
  // The weights are copied for each micro-batch.
  Plan plan = plan_of(Offload::weights);
  plan.micro_batches = 4;
  const Estimate four = owned.estimate(plan);
  CHECK(four.time[Part::gradient_exchange].value() == Approx(4 * off.time[Part::gradient_exchange].value()));
}

TEST_CASE("gradients move to the host with several micro-batches, if no replica has another part of their sum") {
  const Blocks owned(with_host());
  const auto gradients = [&](int data, int zero_stage) {
    Plan plan = plan_of(Offload::optimizer, data, zero_stage);
    plan.micro_batches = 4;
    return owned.estimate(plan).memory.gradients.value();
  };
  CHECK(gradients(1, 0) <= 40000);
  CHECK(gradients(4, 2) <= 40000);
  CHECK(gradients(4, 3) <= 40000);
  // Without ZeRO-2, ranks add up gradients of micro-batches before they exchange them.
  CHECK(gradients(4, 0) >= 8 * 40000);
  CHECK(gradients(4, 1) >= 8 * 40000);
}

TEST_CASE("a gradient buffer for all gradients stays on the device") {
  Plan plan = plan_of(Offload::optimizer);
  plan.precision = Precision::bf16;
  Assumptions assumptions;
  CHECK(moves_gradients(plan, assumptions));
  assumptions.mixed_precision = MixedPrecision::full_gradients;
  CHECK_FALSE(moves_gradients(plan, assumptions));
}

TEST_CASE("weights that ZeRO-3 keeps gathered after forward are on the device, also if the host has a copy") {
  const Blocks owned(with_host());
  Plan plan = plan_of(Offload::weights, 4, 3);
  CHECK(owned.estimate(plan).memory.weights.value() == 2 * 40000);
  plan.reshard = false;
  CHECK(owned.estimate(plan).memory.weights.value() == 8 * 40000);
}

TEST_CASE(
    "activations in the memory of the host leave two blocks of eight on the device, and what is slower than kernels "
    "counts") {
  const Blocks owned(with_host());
  Plan plan = plan_of(Offload::none);
  plan.global_batch = 40000;
  const Plan kept_plan = plan;
  const Estimate on = owned.estimate(plan);
  plan.offload_activations = true;
  const Estimate off = owned.estimate(plan);
  // The inputs of eight matrices are 40,000 samples of 100 elements of 4 bytes. The first input is the batch.
  const double kept = 7 * 16e6;
  CHECK((on.memory.activations - off.memory.activations).value() == Approx(kept * (1 - 2.0 / 8)).epsilon(0.02));
  // The copies overlap with forward and with backward, but kernels of milliseconds hide almost
  // nothing of 224 s in each direction.
  CHECK((off.time.step_time() - on.time.step_time()).value() == Approx(2 * kept / 0.5e6).epsilon(0.001));
  const std::vector<Finding> findings = findings_of(owned.job, off);
  REQUIRE_FALSE(findings.empty());
  CHECK(findings.front().bounds);
  CHECK(std::holds_alternative<Finding::Activations>(findings.front().facts));
  // With a fast host, the copies are completely hidden.
  Machine fast = with_host();
  fast.host->bandwidth = Bandwidth(1e15);
  const Blocks overlapped(fast);
  CHECK(overlapped.estimate(plan).time.step_time() == overlapped.estimate(kept_plan).time.step_time());
}

TEST_CASE("host memory is not used if the machine does not describe it, or if it is too small") {
  const auto first_limit = [](const Machine& machine, const Plan& plan) {
    const Limits limits = Blocks(machine).estimate(plan).limits;
    REQUIRE(!limits.empty());
    return *limits.begin();
  };
  CHECK(first_limit(nodes_of_four(), plan_of(Offload::optimizer)).kind == Limit::Kind::no_host);
  Plan activations = plan_of(Offload::none);
  activations.offload_activations = true;
  CHECK(first_limit(nodes_of_four(), activations).kind == Limit::Kind::no_host);
  Machine small = with_host();
  small.storage.host_memory = Bytes(1e6);
  // There are four replicas with 640,000 bytes of state each on one node. Sharded among the replicas, there is one copy.
  const Limit limit = first_limit(small, plan_of(Offload::optimizer, 4));
  CHECK(limit.kind == Limit::Kind::host_memory);
  CHECK(limit.wanted == Approx(4 * 640000));
  CHECK(Blocks(small).estimate(plan_of(Offload::optimizer, 4, 1)).feasible());
  // The activations of one rank are as large as those that a micro-batch keeps.
  activations.global_batch = 40000;
  const Limit of_activations = first_limit(small, activations);
  CHECK(of_activations.kind == Limit::Kind::host_memory);
  CHECK(of_activations.wanted == Approx(7 * 16e6).epsilon(0.001));
}

}  // namespace
