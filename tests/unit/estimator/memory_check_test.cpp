#include "estimator/search/memory_check.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

constexpr double gibibyte = 1024.0 * 1024 * 1024;

Machine nodes_with(Bytes memory) {
  Machine machine = nodes_of_four();
  machine.device.memory = memory;
  return machine;
}

Plan data_plan(int degree, std::int64_t batch) {
  Plan plan;
  plan.mesh.set(Axis::data, degree);
  plan.global_batch = batch;
  plan.optimizer = Optimizer::momentum;
  return plan;
}

/// resnet50 on devices with this memory.
struct Resnet {
  explicit Resnet(Bytes memory)
      : owned(load_model("resnet50"), nodes_with(memory), Assumptions(), 1e6), estimator(owned.job) {}
  OwnedJob owned;
  Estimator estimator;
};

TEST_CASE("a plan fits if its upper bound fits, and does not fit if its expected memory does not") {
  MemoryBreakdown memory;
  memory.activations = Bytes(90);
  memory.context = Bytes(10);
  memory.uncertainty = Bytes(20);
  CHECK(verdict_of(memory, Bytes(120)) == Verdict::fits);
  CHECK(verdict_of(memory, Bytes(119)) == Verdict::at_risk);
  CHECK(verdict_of(memory, Bytes(100)) == Verdict::at_risk);
  CHECK(verdict_of(memory, Bytes(99)) == Verdict::does_not_fit);
}

TEST_CASE("the next batch above the largest batch does not fit") {
  const Resnet net(Bytes(16 * gibibyte));
  const Plan plan = data_plan(4, 64);
  const LargestBatch largest = largest_batch(net.estimator, plan);
  REQUIRE(largest.fits);
  REQUIRE(largest.at_risk);
  CHECK(*largest.at_risk > *largest.fits);
  const auto verdict = [&](std::int64_t batch) { return check_memory(net.estimator, data_plan(4, batch))->verdict; };
  CHECK(verdict(*largest.fits) == Verdict::fits);
  CHECK(verdict(*largest.fits + 4) == Verdict::at_risk);
  CHECK(verdict(*largest.at_risk) == Verdict::at_risk);
  CHECK(verdict(*largest.at_risk + 4) == Verdict::does_not_fit);
}

TEST_CASE("no batch fits if the weights do not fit") {
  const Resnet net(Bytes(0.1 * gibibyte));
  const LargestBatch largest = largest_batch(net.estimator, data_plan(4, 64));
  CHECK_FALSE(largest.fits);
  CHECK_FALSE(largest.at_risk);
  CHECK_FALSE(fewest_devices(net.estimator, data_plan(4, 64), BatchKept::global));
}

TEST_CASE("below the fewest devices, no plan fits") {
  const Resnet net(Bytes(16 * gibibyte));
  const std::optional<MemoryCheck> fewest = fewest_devices(net.estimator, data_plan(4, 1024), BatchKept::global);
  REQUIRE(fewest);
  REQUIRE(fewest->verdict == Verdict::fits);
  const int count = fewest->estimate.plan.mesh[Axis::data];
  CHECK(count > 1);
  CHECK(fewest->estimate.plan.global_batch == 1024);
  for (int fewer = 1; fewer < count; ++fewer) {
    if (1024 % fewer != 0) continue;  // replicas would have different numbers of samples
    CAPTURE(fewer);
    CHECK(check_memory(net.estimator, data_plan(fewer, 1024))->verdict != Verdict::fits);
  }
}

TEST_CASE("more devices do not help if each keeps its samples") {
  const Resnet net(Bytes(16 * gibibyte));
  CHECK(check_memory(net.estimator, data_plan(4, 4 * 1024))->verdict == Verdict::does_not_fit);
  CHECK_FALSE(fewest_devices(net.estimator, data_plan(4, 4 * 1024), BatchKept::per_device));
  const std::optional<MemoryCheck> one = fewest_devices(net.estimator, data_plan(4, 4 * 16), BatchKept::per_device);
  REQUIRE(one);
  CHECK(one->estimate.plan.mesh.devices() == 1);
  CHECK(one->estimate.plan.global_batch == 16);
}

TEST_CASE("remedies train the same batch on the same number of devices, the fastest first") {
  const Resnet net(Bytes(16 * gibibyte));
  const Plan plan = data_plan(4, 1024);
  const std::optional<MemoryCheck> checked = check_memory(net.estimator, plan);
  REQUIRE(checked);
  REQUIRE(checked->verdict == Verdict::does_not_fit);
  const std::vector<Remedy> found = remedies(net.estimator, *checked);
  REQUIRE_FALSE(found.empty());
  Seconds last{};
  for (const Remedy& each : found) {
    const Plan& other = each.checked.estimate.plan;
    CHECK(other.mesh.devices() == 4);
    CHECK(other.global_batch == 1024);
    CHECK_FALSE(other == plan);
    CHECK(check_memory(net.estimator, other)->verdict == each.checked.verdict);
    if (each.checked.verdict != Verdict::fits) continue;
    CHECK(each.checked.estimate.time.step_time() >= last);
    last = each.checked.estimate.time.step_time();
  }
  const auto smaller = std::find_if(found.begin(), found.end(), [](const Remedy& each) {
    return each.kind == Remedy::Kind::micro_batches && each.checked.verdict == Verdict::fits;
  });
  REQUIRE(smaller != found.end());
  // The plan has the fewest micro-batches that fit: no smaller number that divides the samples of a replica fits.
  Plan fewer = smaller->checked.estimate.plan;
  for (std::int64_t count = 1; count < smaller->checked.estimate.plan.micro_batches; ++count) {
    fewer.micro_batches = count;
    if (256 % count == 0) CHECK(check_memory(net.estimator, fewer)->verdict != Verdict::fits);
  }
}

TEST_CASE("fewer devices keep the size of micro-batches and the split of the model") {
  const Resnet net(Bytes(16 * gibibyte));
  Plan plan = data_plan(8, 8 * 64);
  const std::optional<MemoryCheck> fewest = fewest_devices(net.estimator, plan, BatchKept::global);
  REQUIRE(fewest);
  CHECK(fewest->verdict == Verdict::fits);
  CHECK(fewest->estimate.plan.mesh.devices() == 1);
  CHECK(fewest->estimate.plan.micro_batches == 8);
  plan = data_plan(2, 512);
  plan.mesh.set(Axis::filter, 2);
  const std::optional<MemoryCheck> split = fewest_devices(net.estimator, plan, BatchKept::global);
  REQUIRE(split);
  CHECK(split->estimate.plan.mesh[Axis::filter] <= 2);
}

TEST_CASE("an ended search for remedies returns what it found") {
  const Resnet net(Bytes(16 * gibibyte));
  const std::optional<MemoryCheck> checked = check_memory(net.estimator, data_plan(4, 1024));
  REQUIRE(checked);
  CHECK(remedies(net.estimator, *checked, {}, [] { return false; }).empty());
  CHECK_FALSE(fewest_devices(net.estimator, data_plan(4, 1024), BatchKept::global, [] { return false; }));
}

TEST_CASE("a plan that fits has no remedies") {
  const Resnet net(Bytes(16 * gibibyte));
  CHECK(remedies(net.estimator, *check_memory(net.estimator, data_plan(4, 64))).empty());
}

TEST_CASE("a plan whose shape breaks a limit is not checked") {
  const Resnet net(Bytes(16 * gibibyte));
  CHECK_FALSE(check_memory(net.estimator, data_plan(8, 4)));
}

}  // namespace
