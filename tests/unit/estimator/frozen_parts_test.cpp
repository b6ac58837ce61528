// Tests that frozen parts have no weight gradients, no optimizer state, no tensors kept for these,
// and no exchange of gradients.

#include <optional>
#include <string>

#include "estimator/explain/throughput.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/trained_parts.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"
#include "tests/unit/estimator/small_models.hpp"

namespace {

using namespace ddl;

/// Returns three matrices of 100 × 100 in a row.
Model chain(const std::string& changes) {
  Model model = chain_of(3);
  TrainedParts parts;
  if (!changes.empty()) parts.trained = {changes};
  train_only(model, parts);
  return model;
}

struct Chain : OwnedJob {
  explicit Chain(const std::string& trained, Precision precision = Precision::fp32)
      : OwnedJob(chain(trained), nodes_of_four(), without_overlap(), 1000, std::nullopt, precision, Optimizer::adam) {}
  static Assumptions without_overlap() {
    Assumptions assumptions;
    assumptions.overlap = false;
    assumptions.include_input = false;
    return assumptions;
  }
};

Plan plan_of(int data, int zero_stage = 0) {
  Plan plan;
  plan.mesh.set(Axis::data, data);
  plan.global_batch = 64;
  plan.zero_stage = zero_stage;
  plan.optimizer = Optimizer::adam;
  return plan;
}

TEST_CASE("if no layer is trained, a step is a forward pass") {
  const Model all = load_model("alexnet"), none = load_model("alexnet@trained=none");
  CHECK(none.trained_parameters() == 0);
  CHECK(none.parameters() == all.parameters());
  const OwnedJob training(all, nodes_of_four(), Chain::without_overlap(), 1000);
  const OwnedJob forward(none, nodes_of_four(), Chain::without_overlap(), 1000);
  for (const int data : {1, 8}) {
    const Estimate whole = Estimator(training.job).estimate(plan_of(data)),
                   pass = Estimator(forward.job).estimate(plan_of(data));
    CHECK(pass.time[Part::forward] == whole.time[Part::forward]);
    CHECK(pass.time[Part::backward].value() == 0);
    CHECK(pass.time[Part::weight_update].value() == 0);
    CHECK(pass.time[Part::gradient_exchange].value() == 0);
    CHECK(pass.memory.gradients.value() == 0);
    CHECK(pass.memory.optimizer.value() == 0);
    CHECK(pass.memory.weights == whole.memory.weights);
    CHECK(pass.memory.total() < whole.memory.total());
  }
  // ZeRO-3 gathers the weights once, for forward.
  const Estimate sharded = Estimator(forward.job).estimate(plan_of(8, 3)),
                 both = Estimator(training.job).estimate(plan_of(8, 3));
  CHECK(sharded.time[Part::gradient_exchange] > Seconds{});
  CHECK(sharded.time[Part::gradient_exchange] < both.time[Part::gradient_exchange]);
}

TEST_CASE("frozen weights have no gradients and no optimizer state") {
  const Chain all(""), last("fc3");
  const MemoryBreakdown of_all = Estimator(all.job).estimate(plan_of(1)).memory;
  const MemoryBreakdown of_last = Estimator(last.job).estimate(plan_of(1)).memory;
  // There are 10,000 weights of 4 bytes each. Adam's state has twice as many bytes. The allocator's
  // granules are in the activations.
  CHECK(of_all.weights.value() == 3 * 40000);
  CHECK(of_last.weights.value() == 3 * 40000);
  CHECK(of_all.optimizer.value() == 3 * 80000);
  CHECK(of_last.optimizer.value() == 80000);
}

TEST_CASE("frozen first layers have no backward, and a frozen layer after a trained one only its input gradient") {
  const Chain all(""), last("fc3"), first("fc1");
  const auto backward = [](const Chain& chain) {
    return Estimator(chain.job).estimate(plan_of(1)).time[Part::backward].value();
  };
  // The first layer has no gradient of its input, so there are five products in total, of equal time.
  CHECK(backward(last) == Approx(backward(all) / 5));
  CHECK(backward(first) == Approx(backward(all) * 3 / 5));
}

TEST_CASE("only gradients of trained weights are exchanged and updated") {
  const Chain all(""), last("fc3");
  const Estimate of_all = Estimator(all.job).estimate(plan_of(4)), of_last = Estimator(last.job).estimate(plan_of(4));
  const double beta = 1e-3;  // s/B inside a node
  // An Allreduce moves 2·(3/4) of the bytes with any algorithm, here of 80,000 bytes less.
  CHECK((of_all.time[Part::gradient_exchange] - of_last.time[Part::gradient_exchange]).value() ==
        Approx(2 * 0.75 * 80000 * beta));
  CHECK(of_last.time[Part::weight_update].value() == Approx(of_all.time[Part::weight_update].value() / 3));
}

TEST_CASE("ZeRO-3 gathers frozen weights as well, and scatters no gradients of frozen weights") {
  const Chain all(""), last("fc3");
  const Estimate of_all = Estimator(all.job).estimate(plan_of(4, 3)), of_last = Estimator(last.job).estimate(plan_of(4, 3));
  const double beta = 1e-3;
  // There are two Allgathers of all weights, and a Reduce-scatter of 80,000 bytes less.
  CHECK((of_all.time[Part::gradient_exchange] - of_last.time[Part::gradient_exchange]).value() ==
        Approx(0.75 * 80000 * beta));
  // All gathered parameters except those of one layer may be frozen.
  CHECK(of_last.memory.weights.value() < of_all.memory.weights.value() + 1);
}

TEST_CASE("a frozen matrix keeps no input, and layers before the first trained layer keep nothing") {
  const Chain all(""), last("fc3"), first("fc1");
  // After fc1, backward of fc2 and fc3 needs only their matrices. Before fc3, no tensor is needed.
  CHECK(first.facts.kept[0].input);
  CHECK(!first.facts.kept[1].input);
  CHECK(!first.facts.kept[2].input);
  CHECK(!last.facts.kept[0].input);
  CHECK(last.facts.kept[2].input);
}

TEST_CASE("LoRA computes the gradients of inputs and the adapters' products, and model FLOPs include them") {
  const OwnedJob whole(load_model("llama2-7b"), nodes_of_four(), {}, 1000);
  const OwnedJob adapted(load_model("llama2-7b@lora=16"), nodes_of_four(), {}, 1000);
  const SampleFlops of_whole = sample_flops(whole.facts), of_adapted = sample_flops(adapted.facts);
  CHECK(of_adapted.forward > of_whole.forward);
  CHECK(of_adapted.forward < of_whole.forward * 1.02);
  // The two products of attention, which have no weights, have two gradients each. Each frozen matrix has one gradient.
  CHECK(of_adapted.backward > of_whole.backward / 2);
  CHECK(of_adapted.backward < of_whole.backward / 2 * 1.15);
}

}  // namespace
