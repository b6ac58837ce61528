#include "estimator/step/estimate.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/exchanges/group.hpp"
#include "estimator/explain/explanation.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

Model features(const std::string& layers) {
  return parse_model("format: 1\nmodel: features\ninput: {features: 8}\nlayers:\n" + layers, "features.yaml");
}

Plan plan_of(std::int64_t batch) {
  Plan plan;
  plan.global_batch = batch;
  return plan;
}

/// Returns the model, which has one matrix of 80 weights (320 bytes) and nothing that could be overlapped, as one block.
Model in_block(Model model) {
  for (Layer& layer : model.layers) layer.block = 0;
  model.blocks = 1;
  return model;
}

struct Matrix : OwnedJob {
  explicit Matrix(const Assumptions& some_assumptions, const Coefficients& some_coefficients = {}, bool is_block = false)
      : OwnedJob(is_block ? in_block(one_layer()) : one_layer(), nodes_of_four(), some_assumptions, 1000,
                 std::vector<LayerTimes>{{Seconds(1), Seconds(2), Seconds(12)}}, Precision::fp32, Optimizer::sgd,
                 some_coefficients) {}
  static Model one_layer() { return features("  - fully_connected: {features: 10, bias: no}\n"); }
};

Assumptions without_overlap() {
  Assumptions assumptions;
  assumptions.overlap = false;
  return assumptions;
}

TEST_CASE("a step takes at least the time that the host needs to launch all kernels") {
  const auto estimate = [](double start, const Plan& plan) {
    Coefficients coefficients;
    coefficients.software.launch_overhead = Seconds(start);
    const OwnedJob job(in_block(load_model("alexnet")), nodes_of_four(), without_overlap(), 1000, std::nullopt,
                       Precision::fp32, Optimizer::momentum, coefficients);
    return Estimator(job.job).estimate(plan).time;
  };
  Plan plan = plan_of(64);
  plan.mesh.set(Axis::data, 4);
  const Breakdown without = estimate(0, plan);
  CHECK(without[Part::waiting] == Seconds{});
  CHECK(estimate(1e-9, plan).step_time() == without.step_time());
  // The device then waits for everything except its kernels and exchanges. A step takes a whole
  // number of launches, and the time after backward.
  const Breakdown slow = estimate(1.0, plan), slower = estimate(2.0, plan);
  const double launches = (slower.step_time() - slow.step_time()).value();
  CHECK(launches == Approx(std::round(launches)).epsilon(1e-9));
  CHECK(launches > static_cast<double>(load_model("alexnet").layers.size()));
  CHECK(slow.step_time().value() ==
        Approx(launches + without.step_time().value() -
               (without[Part::forward] + without[Part::backward] + without[Part::layer_collectives]).value()));
  // Launch times are added for every repetition: for forward that is recomputed in backward, and for each micro-batch.
  Plan parts = plan;
  parts.micro_batches = 4;
  CHECK((estimate(2.0, parts).step_time() - estimate(1.0, parts).step_time()).value() == Approx(4 * launches));
  Plan again = plan;
  again.recompute = Recompute::full;
  const double more = (estimate(2.0, again).step_time() - estimate(1.0, again).step_time()).value();
  CHECK(more > 1.2 * launches);
  CHECK(more < 2 * launches);
  // A filter split launches as many kernels, each with less work, and also exchanges: 8 layers
  // gather their outputs, and all but the first sum the gradients of their inputs.
  Plan split = plan_of(64);
  split.mesh.set(Axis::filter, 4);
  CHECK((estimate(2e9, split).step_time() - estimate(1e9, split).step_time()).value() == Approx(1e9 * (launches + 8 + 7)));
}

TEST_CASE("one process launches forward of its devices one after the other, and backward with a thread each") {
  // Launches take so long that all other parts of a pass are negligible. One device needs s launches in forward, and b in
  // backward.
  const auto step_time = [](bool one_process, int devices, Pass pass) {
    Coefficients coefficients;
    coefficients.software.launch_overhead = Seconds(1e12);
    if (one_process) coefficients.software.one_process = true;
    coefficients.software.backward_threads = pass == Pass::forward ? 1 : 1.8;
    const OwnedJob job(load_model("alexnet"), nodes_of_four(), without_overlap(), 1000, std::nullopt, Precision::fp32,
                       Optimizer::momentum, coefficients);
    Plan plan = plan_of(64);
    plan.mesh.set(Axis::data, devices);
    return Estimator(job.job).estimate(plan).time.step_time().value();
  };
  const double all = step_time(false, 4, Pass::forward);
  const double forward = step_time(true, 2, Pass::forward) - all;
  CHECK(forward > 0.2 * all);
  CHECK(forward < 0.5 * all);
  CHECK(step_time(true, 4, Pass::forward) - all == Approx(3 * forward));
  const double backward = (step_time(true, 2, Pass::backward_data) - step_time(true, 2, Pass::forward)) / 0.8;
  CHECK(forward + backward == Approx(all));
  CHECK(step_time(true, 4, Pass::backward_data) - step_time(true, 4, Pass::forward) == Approx(0.8 * backward));
  CHECK(step_time(true, 1, Pass::backward_data) == Approx(step_time(false, 1, Pass::forward)));
}

TEST_CASE("backward launches take a fraction of the time of forward launches, and one process serializes a part of them") {
  // Launches take so long that all other parts are negligible.
  const auto step_time = [](double backward_launches, double serial_forward, int devices) {
    Coefficients coefficients;
    coefficients.software.launch_overhead = Seconds(1e12);
    coefficients.software.one_process = true;
    coefficients.software.backward_launches = backward_launches;
    coefficients.software.serial_forward = serial_forward;
    const OwnedJob job(load_model("alexnet"), nodes_of_four(), without_overlap(), 1000, std::nullopt, Precision::fp32,
                       Optimizer::momentum, coefficients);
    Plan plan = plan_of(64);
    plan.mesh.set(Axis::data, devices);
    return Estimator(job.job).estimate(plan).time.step_time().value();
  };
  // Without backward, the whole pass is forward: F(1 + g(p - 1)) on p devices. Half of the launches
  // of backward make up half of backward's contribution.
  const double forward = step_time(0, 1, 1), all = step_time(1, 1, 1);
  CHECK(all > forward);
  CHECK(step_time(0.5, 1, 1) - forward == Approx((all - forward) / 2));
  CHECK(step_time(0, 1, 4) == Approx(4 * forward));
  CHECK(step_time(0, 0.8, 4) == Approx(3.4 * forward));
  CHECK(step_time(0, 0, 4) == Approx(forward));
}

TEST_CASE("managed memory is paged through the host link if a rank needs more than its device has") {
  const auto estimate = [](double memory, bool managed, double copies) {
    Coefficients coefficients;
    coefficients.software.managed_memory = managed;
    coefficients.software.tile_copies = copies;
    Machine machine = nodes_of_four();
    machine.device.memory = Bytes(memory);
    machine.host = HostPath{Bandwidth(16e9), 2, Seconds(1e-5)};
    const OwnedJob job(load_model("cosmoflow-128"), machine, without_overlap(), 1000, std::nullopt, Precision::fp32,
                       Optimizer::momentum, coefficients);
    Plan plan = plan_of(4);
    plan.mesh.set_tiles({2, 2, 1});
    return Estimator(job.job).estimate(plan);
  };
  const Estimate fits = estimate(1e12, true, 3);
  CHECK(fits.time[Part::waiting] == estimate(1e12, false, 3).time[Part::waiting]);
  CHECK(fits.paging == Seconds{});
  CHECK(estimate(1, false, 3).time[Part::waiting] == fits.time[Part::waiting]);
  // Both passes move all memory that the plan needs: three quarters of the samples, 4 × 4 × 128³ numbers of 4 bytes, and
  // copies of a quarter of the first convolution's output, 4 × 16 × 128³. Two devices share a link of 16 GB/s.
  const double cube = 128.0 * 128 * 128 * 4;
  for (const double copies : {0.0, 3.0}) {
    const Estimate paged = estimate(1, true, copies);
    const double demand = paged.memory.total().value() + 0.75 * 16 * cube + copies * 16 * cube;
    CHECK((paged.time[Part::waiting] - fits.time[Part::waiting]).value() == Approx(2 * demand / 8e9));
    CHECK(paged.paging.value() == Approx(2 * demand / 8e9));
  }
  CHECK(estimate(fits.memory.total().value() * 1.01, true, 0).time[Part::waiting] > fits.time[Part::waiting]);
}

TEST_CASE("a single device has efficiency 1 with a slow host, too") {
  Coefficients coefficients;
  coefficients.software.launch_overhead = Seconds(0.1);
  const OwnedJob job(load_model("alexnet"), nodes_of_four(), Assumptions{}, 1000, std::nullopt, Precision::fp32,
                     Optimizer::momentum, coefficients);
  const Estimate alone = Estimator(job.job).estimate(plan_of(64));
  CHECK(alone.host_waiting > Seconds(1));
  CHECK(alone.time[Part::waiting] == alone.host_waiting);
  CHECK(alone.efficiency == Approx(1.0));
  // Four devices launch four times as many kernels for the same batch.
  Plan plan = plan_of(64);
  plan.mesh.set(Axis::data, 4);
  CHECK(Estimator(job.job).estimate(plan).efficiency < 0.3);
}

TEST_CASE("a single device has efficiency 1 with any batch") {
  const OwnedJob sheet(load_model("alexnet"), nodes_of_four(), ideal_assumptions(), 1000);
  for (const std::int64_t batch : {1, 32, 100}) {
    const Estimate estimate = Estimator(sheet.job).estimate(plan_of(batch));
    CHECK(estimate.efficiency == Approx(1.0));
    CHECK(estimate.replicated_share == Approx(0.0).margin(1e-12));
  }
}

TEST_CASE("a single device has efficiency 1 with fitted factors, too") {
  Coefficients coefficients;
  Learned learned;
  learned[Coefficient::kernels] = 0.9;
  coefficients.learned = {{family_bit(Axis::data), learned}};
  const OwnedJob fitted(load_model("alexnet"), nodes_of_four(), Assumptions{}, 1000, std::nullopt, Precision::fp32,
                        Optimizer::momentum, coefficients);
  const OwnedJob sheet(load_model("alexnet"), nodes_of_four(), Assumptions{}, 1000, std::nullopt, Precision::fp32,
                       Optimizer::momentum);
  const Estimate alone = Estimator(fitted.job).estimate(plan_of(64));
  // The factor makes the device faster than its datasheet says, but not faster than itself.
  CHECK(alone.time.step_time() < Estimator(sheet.job).estimate(plan_of(64)).time.step_time());
  CHECK(alone.efficiency == Approx(1.0));
  CHECK(alone.replicated_share == Approx(0.0).margin(1e-12));
}

TEST_CASE("a single device at the measured batch takes the measured time") {
  Coefficients coefficients;
  coefficients.models.push_back({"alexnet", Precision::fp32, 128, Seconds(1e-3), "by hand"});
  for (const Assumptions& assumptions : {Assumptions{}, ideal_assumptions()}) {
    const OwnedJob measured(load_model("alexnet"), nodes_of_four(), assumptions, 1000, std::nullopt, Precision::fp32,
                            Optimizer::momentum, coefficients);
    const Estimate estimate = Estimator(measured.job).estimate(plan_of(128));
    CHECK(estimate.time.step_time().value() == Approx(128 * 1e-3));
    CHECK(estimate.efficiency == Approx(1.0));
  }
}

TEST_CASE("efficiency is the time that one device needs, divided by the total time of all devices") {
  const Matrix matrix(ideal_assumptions());
  Plan plan = plan_of(32);
  plan.mesh.set(Axis::data, 4);
  const Estimate estimate = Estimator(matrix.job).estimate(plan);
  // One device needs 32 samples · 3 s + 12 s for the update. Each of four replicas takes 8 samples · 3 s + 12 s, and 6
  // rounds · (1 s + 80 B · 1 ms/B) = 6.48 s to exchange gradients.
  CHECK(estimate.time.step_time().value() == Approx(36 + 6.48));
  CHECK(estimate.efficiency == Approx(108 / (4 * 42.48)));
}

TEST_CASE("an epoch has as many steps as its samples fill") {
  const Matrix matrix(Assumptions{});
  // 1000 samples in batches of 32 are 31.25 steps. A step takes 32 samples · 3 s + 12 s.
  const Estimate estimate = Estimator(matrix.job).estimate(plan_of(32));
  CHECK(estimate.time.step_time().value() == Approx(108.0));
  CHECK(estimate.epoch.value() == Approx(31.25 * 108));
}

TEST_CASE("an epoch of fewer samples than a batch is a part of a step") {
  const Matrix matrix(Assumptions{});
  const Estimate estimate = Estimator(matrix.job).estimate(plan_of(4000));
  CHECK(estimate.epoch.value() == Approx(estimate.time.step_time().value() / 4));
}

TEST_CASE("an estimate does not depend on the plans that were estimated before") {
  for (const Optimizer optimizer : {Optimizer::kfac, Optimizer::shampoo, Optimizer::muon}) {
    const OwnedJob owned(load_model("alexnet"), nodes_of_four(), Assumptions{}, 1000, std::nullopt, Precision::fp32,
                         optimizer);
    Plan plan;
    plan.mesh.set(Axis::data, 4);
    plan.global_batch = 64;
    plan.optimizer = optimizer;
    Plan sharded = plan;
    sharded.zero_stage = 1;
    const Estimator estimator(owned.job);
    const Seconds first = estimator.estimate(plan).time.step_time();
    CHECK(estimator.estimate(sharded).time.step_time() == Estimator(owned.job).estimate(sharded).time.step_time());
    CHECK(estimator.estimate(plan).time.step_time() == first);
  }
}

TEST_CASE("the parts of a serial step are its passes and its update") {
  const Matrix matrix(Assumptions{});
  const Breakdown time = Estimator(matrix.job).estimate(plan_of(32)).time;
  CHECK(time[Part::forward].value() == Approx(32.0));
  CHECK(time[Part::backward].value() == Approx(64.0));
  CHECK(time[Part::weight_update].value() == Approx(12.0));
  CHECK(time.step_time() == time.compute());
}

TEST_CASE("recomputation adds forward of blocks to backward") {
  Plan plan = plan_of(32);
  plan.recompute = Recompute::full;
  const Matrix block(Assumptions{}, {}, true);
  const Breakdown time = Estimator(block.job).estimate(plan).time;
  CHECK(time[Part::forward].value() == Approx(32.0));
  CHECK(time[Part::backward].value() == Approx(96.0));
  const Matrix matrix(Assumptions{});
  CHECK(Estimator(matrix.job).estimate(plan).time[Part::backward].value() == Approx(64.0));
}

TEST_CASE("recomputed layers exchange their forward again") {
  const Matrix matrix(Assumptions{}, {}, true);
  Plan plan = plan_of(8);
  plan.mesh.set(Axis::filter, 2);
  // The Allgather of the output between two ranks takes 1 s + (8 samples · 10 elements · 4 B)/2 · 1 ms/B. The first layer
  // has no exchange in backward.
  CHECK(Estimator(matrix.job).estimate(plan).time[Part::layer_collectives].value() == Approx(1.16));
  plan.recompute = Recompute::full;
  CHECK(Estimator(matrix.job).estimate(plan).time[Part::layer_collectives].value() == Approx(2 * 1.16));
}

// Two products of 8 · 10 and 10 · 6 weights take 1 s and 3 s a sample forward, 2 s and 6 s backward.
TEST_CASE("recomputation that stops early leaves out the last product of a block, and its exchange") {
  const std::vector<LayerTimes> times{{Seconds(1), Seconds(2), Seconds(0)}, {Seconds(3), Seconds(6), Seconds(0)}};
  const char* const two = "  - fully_connected: {features: 10, bias: no}\n  - fully_connected: {features: 6, bias: no}\n";
  Assumptions early;
  early.recompute_stops_early = true;
  const OwnedJob owned(in_block(features(two)), nodes_of_four(), early, 1000, times);
  Plan plan = plan_of(32);
  plan.recompute = Recompute::full;
  const Estimate estimate = Estimator(owned.job).estimate(plan);
  CHECK(estimate.time[Part::backward].value() == Approx(32.0 * (2 + 6 + 1)));
  CHECK(estimate.recomputed_share == Approx(80.0 / (80 + 60)));
  const Matrix matrix(early, {}, true);
  CHECK(Estimator(matrix.job).estimate(plan).time[Part::backward].value() == Approx(64.0));
  plan = plan_of(8);
  plan.mesh.set(Axis::filter, 2);
  plan.recompute = Recompute::full;
  CHECK(Estimator(matrix.job).estimate(plan).time[Part::layer_collectives].value() == Approx(1.16));
}

TEST_CASE("micro-batches run one after the other, followed by one update") {
  const Matrix matrix(Assumptions{});
  Plan plan = plan_of(32);
  plan.micro_batches = 4;
  plan.mesh.set(Axis::filter, 2);
  const Breakdown time = Estimator(matrix.job).estimate(plan).time;
  CHECK(time[Part::forward].value() == Approx(16.0));
  CHECK(time[Part::weight_update].value() == Approx(6.0));
  // The time is four times that of one Allgather of 8 samples.
  CHECK(time[Part::layer_collectives].value() == Approx(4 * 1.16));
}

TEST_CASE("ZeRO-1 and -2 exchange as many bytes as an Allreduce, and ZeRO-3 exchanges 1.5 times as many") {
  const Matrix matrix(without_overlap());
  Plan plan = plan_of(32);
  plan.mesh.set(Axis::data, 4);
  const auto exchange = [&](int stage) {
    plan.zero_stage = stage;
    return Estimator(matrix.job).estimate(plan).time[Part::gradient_exchange].value();
  };
  // A Reduce-scatter of 320 B takes 3 rounds · (1 + 0.08) s, and so does an Allgather.
  CHECK(exchange(1) == Approx(6.48));
  CHECK(exchange(2) == Approx(6.48));
  CHECK(exchange(3) == Approx(9.72));
  // Sharded gradients are scattered after each micro-batch, and ZeRO-3 gathers the weights for each pass.
  plan.micro_batches = 8;
  CHECK(exchange(1) == Approx(6.48));
  CHECK(exchange(2) == Approx(8 * 3.24 + 3.24));
  CHECK(exchange(3) == Approx(8 * 3.24 + 16 * 3.24));
  // Without ZeRO, the fastest Allreduce is chosen: two rounds of a butterfly.
  CHECK(exchange(0) == Approx(2 * (1 + 0.32)));
  CHECK(Estimator(matrix.job).estimate(plan).gradient_algorithm == to_string(AllreduceAlgorithm::butterfly));
}

TEST_CASE("ZeRO in groups scatters and gathers within a group, and sums the shards of all groups") {
  const Matrix matrix(without_overlap());
  Plan plan = plan_of(32);
  plan.mesh.set(Axis::data, 4);
  plan.zero_stage = 3;
  const auto estimate = [&](int group) {
    plan.shard_group = group;
    return Estimator(matrix.job).estimate(plan);
  };
  const auto exchange = [&](int group) { return estimate(group).time[Part::gradient_exchange].value(); };
  // The four ranks form groups of two. A Reduce-scatter and two Allgathers of 320 B between two ranks take 1.16 s each. An
  // Allreduce of 160 B between two ranks is one round of a butterfly, which takes 1.16 s.
  CHECK(exchange(2) == Approx(4 * 1.16));
  plan.micro_batches = 8;
  // The groups sum their shards once [Zha22, section 3.4].
  CHECK(exchange(2) == Approx(8 * 3 * 1.16 + 1.16));
  plan.micro_batches = 1;
  // A group of all ranks is ZeRO-3.
  const Estimate all = estimate(0), group_of_all = estimate(4);
  CHECK(group_of_all.time.step_time() == all.time.step_time());
  CHECK(group_of_all.memory.total() == all.memory.total());
  // Groups of one rank have the same exchanges and memory as ranks without ZeRO.
  const Estimate alone = estimate(1);
  plan.zero_stage = 0;
  const Estimate whole = estimate(0);
  CHECK(alone.time[Part::gradient_exchange] == whole.time[Part::gradient_exchange]);
  CHECK(alone.time[Part::weight_update].value() == Approx(whole.time[Part::weight_update].value()));
  CHECK(alone.memory.weights == whole.memory.weights);
  CHECK(alone.memory.optimizer == whole.memory.optimizer);
}

TEST_CASE("with a second copy of weights the first forward gathers among all ranks, and the rest in groups") {
  const Matrix matrix(without_overlap());
  const Estimator estimator(matrix.job);
  Plan plan = plan_of(32);
  plan.mesh.set(Axis::data, 4);
  plan.zero_stage = 3;
  const auto exchange = [&](int ranks) {
    plan.secondary_shards = ranks;
    return estimator.estimate(plan).time[Part::gradient_exchange].value();
  };
  // Among four ranks, a Reduce-scatter and an Allgather of 320 B take 3 · (1 + 0.08) s each. An Allgather between two ranks
  // takes 1.16 s.
  CHECK(exchange(2) == Approx(2 * 3.24 + 1.16));
  plan.micro_batches = 8;
  // The secondary shards are valid until weights are updated.
  CHECK(exchange(2) == Approx(8 * 3.24 + 3.24 + 15 * 1.16));
  // With secondary shards among all ranks, a step takes as long as with ZeRO-3, and memory contains another quarter of the
  // weights. With one rank, there are no secondary shards.
  CHECK(exchange(4) == exchange(0));
  CHECK(exchange(1) == exchange(0));
  const auto weights = [&](int ranks) {
    plan.secondary_shards = ranks;
    return estimator.estimate(plan).memory.weights.value();
  };
  CHECK(weights(4) == Approx(weights(0) + 80));
  CHECK(weights(2) == Approx(weights(0) + 160));
  CHECK(weights(1) == weights(0));
  // A plan is possible if groups divide the ranks, and weights are gathered twice, among all ranks.
  CHECK(estimator.limits(plan).empty());
  const auto refuses = [&](const Plan& other) {
    const Limits limits = estimator.limits(other);
    return !limits.empty() && limits.begin()->kind == Limit::Kind::secondary_shards;
  };
  plan.secondary_shards = 2;
  CHECK_FALSE(refuses(plan));
  Plan other = plan;
  other.secondary_shards = 3;
  CHECK(refuses(other));
  other = plan;
  other.zero_stage = 2;
  CHECK(refuses(other));
  other = plan;
  other.reshard = false;
  CHECK(refuses(other));
  other = plan;
  other.shard_group = 2;
  CHECK(refuses(other));
  other = plan;
  other.offload = Offload::weights;
  CHECK(refuses(other));
}

TEST_CASE("the ranks of a shard group are neighbors, and its replicas are a group's size apart") {
  // Eight data-parallel ranks are on two nodes of four. A shard group of four ranks is inside a node. Two ranks with copies
  // of the same shard are in different nodes.
  Plan plan;
  plan.mesh.set(Axis::data, 8);
  const Machine machine = nodes_of_four();
  const Group shards = group_of(plan, machine, shard_axes(family_bit(Axis::data), 4));
  CHECK(shards.ranks == 4);
  CHECK(shards.outermost == 0);
  const Group copies = group_of(plan, machine, copy_axes(4));
  CHECK(copies.ranks == 2);
  CHECK(copies.outermost == 1);
  CHECK(copies.members[0] == 1);
  // All four ranks of a node sum their shards with the other node at once.
  CHECK(copies.flows[0] == 4);
}

TEST_CASE("a straggler adds the delay of its kernels if other ranks wait for it") {
  const auto priced = [](double straggler, int ranks, int stages) {
    Assumptions assumptions = without_overlap();
    assumptions.straggler = straggler;
    const OwnedJob owned(load_model("resnet50"), nodes_of_four(), assumptions, 1000);
    Plan plan = plan_of(8);
    plan.mesh.set(Axis::data, ranks);
    plan.mesh.set(Axis::pipeline, stages);
    plan.micro_batches = stages;
    return Estimator(owned.job).estimate(plan).time;
  };
  for (const int stages : {1, 2}) {
    const Breakdown even = priced(1, 2, stages), uneven = priced(1.25, 2, stages);
    CHECK(uneven[Part::forward] == even[Part::forward]);
    CHECK((uneven[Part::waiting] - even[Part::waiting]).value() ==
          Approx(0.25 * (even[Part::forward] + even[Part::backward]).value()));
    CHECK((uneven.step_time() - even.step_time()).value() == Approx((uneven[Part::waiting] - even[Part::waiting]).value()));
  }
  // A single device waits for no other device, and is not slower than itself.
  CHECK(priced(1.25, 1, 1).step_time() == priced(1, 1, 1).step_time());
}

TEST_CASE("a rank whose experts are popular slows only the experts and their All-to-alls") {
  const auto explained = [](double imbalance, int ranks) {
    Assumptions assumptions = without_overlap();
    assumptions.expert_imbalance = imbalance;
    const OwnedJob owned(load_model("mixtral-8x7b"), nodes_of_four(), assumptions, 1000);
    Plan plan = plan_of(8);
    plan.mesh.set(Axis::expert, ranks);
    plan.mesh.set(Axis::data, 4 / ranks);
    return explain(Estimator(owned.job), plan);
  };
  const Explanation even = explained(1, 4), uneven = explained(1.5, 4);
  REQUIRE(even.layers.size() == uneven.layers.size());
  const Model model = load_model("mixtral-8x7b");
  for (std::size_t i = 0; i < even.layers.size(); ++i) {
    const double factor = model.layers[i].operation->experts() > 1 ? 1.5 : 1.0;
    INFO(model.layers[i].name);
    CHECK(uneven.layers[i].costs[LayerTime::forward].value() ==
          Approx(factor * even.layers[i].costs[LayerTime::forward].value()));
    CHECK(uneven.layers[i].costs[LayerTime::backward].value() ==
          Approx(factor * even.layers[i].costs[LayerTime::backward].value()));
  }
  const Breakdown before = even.estimate.time, after = uneven.estimate.time;
  CHECK(before[Part::layer_collectives].value() > 0);
  CHECK(after[Part::layer_collectives].value() == Approx(1.5 * before[Part::layer_collectives].value()));
  CHECK(after[Part::forward] > before[Part::forward]);
  CHECK(after[Part::gradient_exchange] == before[Part::gradient_exchange]);
  // A rank with all experts has all tokens.
  CHECK(explained(1.5, 1).estimate.time.step_time() == explained(1, 1).estimate.time.step_time());
}

TEST_CASE("forward products of experts take at least the launches for each expert of a rank") {
  const auto explained = [](double share, int ranks, Precision precision) {
    Coefficients coefficients;
    coefficients.software.launch_overhead = Seconds(1000);  // so long that the product itself is negligible
    coefficients.software.expert_launches = share;
    const OwnedJob owned(load_model("mixtral-8x7b"), nodes_of_four(), without_overlap(), 1000, std::nullopt, precision,
                         Optimizer::momentum, coefficients);
    Plan plan = plan_of(8);
    plan.precision = precision;
    plan.mesh.set(Axis::expert, ranks);
    plan.mesh.set(Axis::data, 4 / ranks);
    return explain(Estimator(owned.job), plan);
  };
  const Explanation ahead = explained(0, 4, Precision::fp32), behind = explained(0.5, 4, Precision::fp32);
  const Explanation all = explained(0.5, 1, Precision::fp32);
  const Model model = load_model("mixtral-8x7b");
  for (std::size_t i = 0; i < behind.layers.size(); ++i) {
    INFO(model.layers[i].name);
    CHECK(behind.layers[i].costs[LayerTime::backward] == ahead.layers[i].costs[LayerTime::backward]);
    if (model.layers[i].operation->experts() == 1) {
      CHECK(behind.layers[i].costs[LayerTime::forward] == ahead.layers[i].costs[LayerTime::forward]);
    } else {
      // Each of four ranks has two of the eight experts. Each expert adds 0.5 launches, and a launch takes 1,000 s.
      CHECK(behind.layers[i].costs[LayerTime::forward].value() == Approx(2 * 0.5 * 1000));
      CHECK(all.layers[i].costs[LayerTime::forward].value() == Approx(8 * 0.5 * 1000));
    }
  }
}

TEST_CASE(
    "collectives of a tensor split are overlapped in chunks with matrix products inside of a node, and not across nodes") {
  const auto collectives = [](int tensor, bool in_pieces) {
    const Model model = parse_model(
        "format: 1\nmodel: run\nfamily: gpt\nparameters: {layers: 2, hidden: 64, heads: 8, vocabulary: 800, tokens: 64}\n",
        "run.yaml");
    Coefficients coefficients;
    coefficients.software.overlaps_tensor_exchanges = in_pieces;
    const OwnedJob owned(model, nodes_of_four(), {}, 1000, std::nullopt, Precision::fp16, Optimizer::adam, coefficients);
    Plan plan;
    plan.mesh.set(Axis::tensor, tensor);
    plan.sequence_parallel = true;
    plan.precision = Precision::fp16;
    plan.optimizer = Optimizer::adam;
    plan.global_batch = 4;
    return Estimator(owned.job).estimate(plan).time[Part::layer_collectives].value();
  };
  CHECK(collectives(4, true) < collectives(4, false));
  CHECK(collectives(8, true) == Approx(collectives(8, false)));
}

TEST_CASE("with ZeRO, each replica updates its shard of the parameters") {
  const Matrix matrix(Assumptions{});
  Plan plan = plan_of(32);
  plan.mesh.set(Axis::data, 4);
  for (const int stage : {1, 2, 3}) {
    plan.zero_stage = stage;
    CHECK(Estimator(matrix.job).estimate(plan).time[Part::weight_update].value() == Approx(3.0));
  }
}

/// A model with 200 MiB of gradients, in eight buckets of 25 MiB, which two replicas exchange in one second by a ring
/// without start-up. Backward takes `backward` seconds per sample.
struct EightBuckets : OwnedJob {
  EightBuckets(Seconds backward, const Assumptions& some_assumptions, const Coefficients& some_coefficients = {})
      : OwnedJob(parse_model("format: 1\nmodel: m\ninput: {features: 6400}\nlayers:\n  - fully_connected: {features: 8192, "
                             "bias: no}\n",
                             "m.yaml"),
                 nodes_of_four(), some_assumptions, 1000, std::vector<LayerTimes>{{Seconds(1), backward, Seconds()}},
                 Precision::fp32, Optimizer::sgd, some_coefficients) {
    machine.levels[0].latency = Seconds(0);
    machine.levels[0].bandwidth = Bandwidth(209715200);
    assumptions.allreduce = AllreduceAlgorithm::ring;
    plan.mesh.set(Axis::data, 2);
    plan.global_batch = 2;
  }
  [[nodiscard]] Estimate estimate() const { return Estimator(job).estimate(plan); }
  Plan plan;
};

TEST_CASE("backward hides the exchange of all buckets but the last") {
  // Seven eighths of 0.4 s can hide a part of an exchange of 1 s.
  const Estimate some = EightBuckets(Seconds(0.4), Assumptions{}).estimate();
  CHECK(some.time[Part::gradient_exchange].value() == Approx(0.65));
  CHECK(some.hidden_exchange.value() == Approx(0.35));
  // The last bucket is complete only when backward ends.
  const Estimate most = EightBuckets(Seconds(4), Assumptions{}).estimate();
  CHECK(most.time[Part::gradient_exchange].value() == Approx(0.125));
  CHECK(most.hidden_exchange.value() == Approx(0.875));
}

TEST_CASE("gradients are exchanged after the last micro-batch, and only its backward hides the exchange") {
  EightBuckets job(Seconds(0.4), Assumptions{});
  job.plan.global_batch = 8;
  CHECK(job.estimate().time[Part::gradient_exchange].value() == Approx(0.125));  // four samples: 1.4 s
  job.plan.micro_batches = 4;
  CHECK(job.estimate().time[Part::gradient_exchange].value() == Approx(0.65));
}

TEST_CASE("under FSDP, the last backward hides the sum of shards across groups") {
  const auto estimate = [](bool is_fsdp, bool overlap = true) {
    Assumptions assumptions;
    assumptions.overlap = overlap;
    assumptions.gathers_units = is_fsdp;
    EightBuckets job(Seconds(0.4), assumptions);
    job.plan.mesh.set(Axis::data, 4);
    job.plan.global_batch = 16;
    job.plan.micro_batches = 4;
    job.plan.zero_stage = 1;
    job.plan.shard_group = 2;
    return job.estimate();
  };
  // In groups of two, a Reduce-scatter, the Allreduce of a half across groups, and an Allgather take half a second each.
  // Seven eighths of 0.4 s hide a part of the first two. What is left of one overlaps with what is left of the other.
  CHECK(estimate(true).time[Part::gradient_exchange].value() == Approx(0.15 + 0.5));
  CHECK(estimate(true).hidden_exchange.value() == Approx(2 * 0.35 + 0.15));
  CHECK(estimate(false).time[Part::gradient_exchange].value() == Approx(0.15 + 0.5 + 0.5));
  CHECK(estimate(true, false).time[Part::gradient_exchange].value() == Approx(1.5));
}

TEST_CASE("the next forward hides ZeRO-1's gathers of weights if the software overlaps them") {
  // Reduce-scatter and Allgather take half a second each. Seven eighths of backward's 0.4 s hide
  // the Reduce-scatter, except its last bucket and the remaining part: 1/16 + 7/16 - 0.35 s.
  // Forward takes 1 s, and hides all of the Allgather except the first bucket.
  const auto estimate = [](bool overlaps, const Assumptions& assumptions = {}) {
    Coefficients coefficients;
    coefficients.software.overlaps_weight_gathers = overlaps;
    EightBuckets job(Seconds(0.4), assumptions, coefficients);
    job.plan.zero_stage = 1;
    return job.estimate();
  };
  CHECK(estimate(false).time[Part::gradient_exchange].value() == Approx(0.15 + 0.5));
  CHECK(estimate(true).time[Part::gradient_exchange].value() == Approx(0.15 + 0.5 / 8));
  CHECK(estimate(true).hidden_exchange.value() == Approx(0.35 + 0.5 * 7 / 8));
  CHECK(estimate(true, without_overlap()).time[Part::gradient_exchange].value() == Approx(1.0));
}

TEST_CASE("no exchange is hidden if the assumptions or the software forbid it, or in a single bucket") {
  const Estimate assumed = EightBuckets(Seconds(4), without_overlap()).estimate();
  CHECK(assumed.time[Part::gradient_exchange].value() == Approx(1.0));
  CHECK(assumed.hidden_exchange.value() == 0);
  Coefficients coefficients;
  coefficients.software.overlaps_gradients = false;
  CHECK(EightBuckets(Seconds(4), Assumptions{}, coefficients).estimate().time[Part::gradient_exchange].value() ==
        Approx(1.0));
  // 320 B fit into one bucket.
  const Matrix matrix(Assumptions{});
  Plan plan = plan_of(32);
  plan.mesh.set(Axis::data, 4);
  CHECK(Estimator(matrix.job).estimate(plan).time[Part::gradient_exchange].value() == Approx(2 * (1 + 0.32)));
}

TEST_CASE("kernels and an exchange that run at the same time each take longer") {
  Coefficients coefficients;
  coefficients.overlap = {.kernels = 1.25, .exchange = 1.5};
  // 0.35 s of kernels take 0.4375 s while they overlap with an exchange, and 0.2917 of the
  // exchange's 0.875 s are done in this time. The rest of the exchange, and the last bucket, run
  // alone: 0.4375 + 0.5833 + 0.125 s, compared with 0.35 s for the kernels alone.
  const Estimate some = EightBuckets(Seconds(0.4), Assumptions{}, coefficients).estimate();
  CHECK(some.time[Part::gradient_exchange].value() == Approx(0.4375 + 0.875 - 0.4375 / 1.5 + 0.125 - 0.35));
  CHECK(some.time[Part::backward].value() == Approx(0.4));
  CHECK(some.hidden_exchange.value() == Approx(1 - some.time[Part::gradient_exchange].value()));
  // The exchange of 0.875 s ends after 1.3125 s, in which kernels lose 0.2625 s.
  const Estimate most = EightBuckets(Seconds(4), Assumptions{}, coefficients).estimate();
  CHECK(most.time[Part::gradient_exchange].value() == Approx(0.2625 + 0.125));
  // Kernels that are not slowed down hide an exchange that takes three times as long, if there are enough kernels.
  coefficients.overlap = {.kernels = 1, .exchange = 3};
  CHECK(EightBuckets(Seconds(4), Assumptions{}, coefficients).estimate().time[Part::gradient_exchange].value() ==
        Approx(0.125));
}

TEST_CASE("gradients are reduced after backward if overlap is slower, unless the software always overlaps") {
  Coefficients coefficients;
  coefficients.overlap = {.kernels = 2, .exchange = 2};  // overlapped, both take as long as in sequence
  const auto shown = [&] {
    return EightBuckets(Seconds(4), Assumptions{}, coefficients).estimate().time[Part::gradient_exchange].value();
  };
  CHECK(shown() == Approx(1.0));
  coefficients.overlap.kernels = 4;
  CHECK(shown() == Approx(1.0));
  coefficients.software.overlaps_gradients = true;
  // An exchange of 0.875 s takes 1.75 s, in which kernels lose three quarters.
  CHECK(shown() == Approx(1.75 * 0.75 + 0.125));
  CHECK(EightBuckets(Seconds(4), Assumptions{}, coefficients).estimate().hidden_exchange.value() == 0);
  coefficients.software.overlaps_gradients = false;
  CHECK(shown() == Approx(1.0));
}

TEST_CASE("half precision exchanges half as many bytes") {
  const Matrix matrix(without_overlap());
  Plan plan = plan_of(32);
  plan.mesh.set(Axis::data, 4);
  plan.precision = Precision::fp16;
  CHECK(Estimator(matrix.job).estimate(plan).time[Part::gradient_exchange].value() == Approx(2 * (1 + 0.16)));
}

TEST_CASE("slices exchange the gradients of their own weights, unless the software exchanges whole layers") {
  Plan plan = plan_of(32);
  plan.mesh.set(Axis::data, 2);
  plan.mesh.set(Axis::filter, 2);
  // The exchange is one round of a butterfly with half of 320 B.
  const Matrix matrix(without_overlap());
  CHECK(Estimator(matrix.job).estimate(plan).time[Part::gradient_exchange].value() == Approx(1 + 0.16));
  Coefficients coefficients;
  coefficients.software.whole_gradients_in_hybrids = true;
  const Matrix whole(without_overlap(), coefficients);
  CHECK(Estimator(whole.job).estimate(plan).time[Part::gradient_exchange].value() == Approx(1 + 0.32));
  CHECK(Estimator(whole.job).estimate(plan).memory.weights == Estimator(matrix.job).estimate(plan).memory.weights);
}

TEST_CASE("layers that all ranks compute count as replicated work") {
  const OwnedJob owned(features("  - fully_connected: {features: 8, bias: no}\n  - activation: relu\n"), nodes_of_four(),
                       Assumptions{}, 1000, std::vector<LayerTimes>(2, {Seconds(1), Seconds(2), Seconds()}));
  Plan plan = plan_of(8);
  plan.mesh.set(Axis::filter, 4);
  // Each of four ranks takes 3/4 + 3 s per sample. Without replicated work, 6/4 s would be sufficient.
  CHECK(Estimator(owned.job).estimate(plan).replicated_share == Approx(1 - 1.5 / 3.75));
  plan.mesh.set(Axis::filter, 1);
  plan.mesh.set(Axis::data, 4);
  CHECK(Estimator(owned.job).estimate(plan).replicated_share == Approx(0.0).margin(1e-12));
}

TEST_CASE("the imbalance is the time of the longest stage divided by the mean, minus one") {
  std::vector<LayerTimes> times;
  for (const double seconds : {1.0, 2.0, 6.0, 3.0})
    times.push_back({Seconds(seconds / 3), Seconds(seconds * 2 / 3), Seconds()});
  const OwnedJob owned(
      features("  - fully_connected: 8\n  - fully_connected: 8\n  - fully_connected: 8\n  - fully_connected: 8\n"),
      nodes_of_four(), Assumptions{}, 1000, times);
  Plan plan = plan_of(8);
  plan.mesh.set(Axis::pipeline, 4);
  CHECK(Estimator(owned.job).estimate(plan).imbalance == Approx(6.0 / 3 - 1));
  // With the stages 1 2 | 6 3, the longest stage takes 9, and the mean of the stages is 6. The cut 1 2 6 | 3 has a longest
  // stage of 9, too.
  plan.mesh.set(Axis::pipeline, 2);
  CHECK(Estimator(owned.job).estimate(plan).imbalance == Approx(9.0 / 6 - 1));
}

TEST_CASE("stages update and exchange at the same time, and the fullest one determines the memory") {
  // The widths 8 → 100 → 8 → 8 have 800, 800 and 64 weights, in two stages of 800 and 864.
  const OwnedJob owned(
      features("  - fully_connected: {features: 100, bias: no}\n  - fully_connected: {features: 8, bias: no}\n"
               "  - fully_connected: {features: 8, bias: no}\n"),
      nodes_of_four(), without_overlap(), 1000,
      std::vector<LayerTimes>{
          {Seconds(9), Seconds(9), Seconds(5)}, {Seconds(5), Seconds(5), Seconds(4)}, {Seconds(4), Seconds(4), Seconds(3)}});
  Plan plan = plan_of(8);
  plan.mesh.set(Axis::pipeline, 2);
  plan.mesh.set(Axis::data, 2);
  const Estimate estimate = Estimator(owned.job).estimate(plan);
  CHECK(estimate.time[Part::weight_update].value() == Approx(7.0));
  CHECK(estimate.time[Part::gradient_exchange].value() == Approx(1 + 864 * 4 * 0.001));
}

TEST_CASE("a plan whose time is not a number is rejected, and has no figures") {
  Machine machine = nodes_of_four();
  machine.device.memory_bandwidth = Bandwidth(4e-324);
  const OwnedJob job(load_model("alexnet"), machine, without_overlap(), 1000, std::nullopt, Precision::fp32);
  Plan plan = plan_of(64);
  plan.mesh.set(Axis::data, 4);
  const Estimate estimate = Estimator(job.job).estimate(plan);
  REQUIRE_FALSE(estimate.feasible());
  CHECK(estimate.limits.begin()->kind == Limit::Kind::not_finite);
  CHECK(estimate.time.step_time() == Seconds{});
  CHECK(estimate.memory.total() == Bytes{});
}

}  // namespace
