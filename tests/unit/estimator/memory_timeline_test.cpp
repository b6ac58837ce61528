#include "estimator/memory/memory_timeline.hpp"

#include <map>
#include <string>
#include <utility>

#include "core/csv.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

Machine processor() {
  Machine machine = nodes_of_four();
  machine.device.is_processor = true;
  return machine;
}

MemoryTimeline timeline_of(const OwnedJob& owned, const Plan& plan) {
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), -1);
  const LayerCostTable table(owned.job, plan, kinds);
  return memory_timeline(owned.job, plan, table, 0, 0, static_cast<int>(owned.model.layers.size()));
}

TEST_CASE("what is kept for backward is what PyTorch saves") {
  // torch_saved_bytes.csv, without the batch. Where it is not the same to the byte, what is missing or too much of a sample,
  // and of a step: inception_v3's three numbers between its two losses; of ViT a tensor as large as the batch (196 patches
  // of 768), and the twelve numbers of 8 bytes that queries are divided by; of ConvNeXt the factor of the first block's
  // stochastic depth, whose rate is 0, which the rows by the layers of the model file have; of GoogLeNet six numbers.
  struct Difference {
    double sample = 0, step = 0;
  };
  const std::map<std::string, Difference> differences{{"inception_v3", {0, 12}},
                                                      {"vit_b_16@fused=no", {196 * 768 * 4, 12 * 8}},
                                                      {"convnext_tiny", {-4, 0}},
                                                      {"googlenet", {0, 24}}};
  const CsvTable table = CsvTable::load(DATA_FOLDER "torch_saved_bytes.csv");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const OwnedJob owned(load_model(std::string(table.cell(row, table.column("model")))), processor(), Assumptions{}, 1000);
    Plan plan;
    plan.global_batch = static_cast<std::int64_t>(*table.number(row, table.column("batch")));
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), -1);
    const LayerCostTable costs(owned.job, plan, kinds);
    const double ours =
        (costs.kept(0, static_cast<int>(owned.model.layers.size())) - costs.at(owned.facts.batch_keeper).input).value();
    const double torch = *table.number(row, table.column("saved_activation_bytes_unique"));
    INFO(owned.model.name << " at " << plan.global_batch << ": " << torch - ours);
    const auto known = differences.find(owned.model.name);
    const Difference difference = known == differences.end() ? Difference{} : known->second;
    const double expected = difference.sample * static_cast<double>(plan.global_batch) + difference.step;
    const bool exact = torch == ours;
    CHECK((exact || torch - ours == expected));
    CHECK(ours == Approx(torch).epsilon(0.005));
  }
}

TEST_CASE("a step's peak is that of PyTorch on a processor") {
  // torch_step_peak.csv: parameters, activations and gradients, without the batch and without buffers; the update's slots
  // come after its peak.
  const CsvTable table = CsvTable::load(DATA_FOLDER "torch_step_peak.csv");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const OwnedJob owned(load_model(std::string(table.cell(row, table.column("model")))), processor(), Assumptions{}, 1000);
    Plan plan;
    plan.global_batch = static_cast<std::int64_t>(*table.number(row, table.column("batch")));
    const MemoryTimeline timeline = timeline_of(owned, plan);
    const double batch = *table.number(row, table.column("input_bytes"));
    const double measured = *table.number(row, table.column("step_peak_fwd_bwd"));
    INFO(owned.model.name << " at " << plan.global_batch);
    INFO((timeline.peak_allocated.value() - batch) / measured - 1);
    CHECK(timeline.peak_allocated.value() - batch == Approx(measured).epsilon(0.03));
  }
}

Model chain_of_two() {
  return parse_model(R"(format: 1
model: chain
input: {features: 100}
layers:
  - fully_connected: {features: 100, bias: no}
  - fully_connected: {features: 100, bias: no}
)",
                     "chain.yaml");
}

TEST_CASE("gradients appear in backward and stay to the update") {
  // Tensors of 24 · 100 · 4 = 9600 B, matrices of 40,000 B: in backward of the first layer there are both matrices and the
  // gradients of both, the batch and the gradient that the second layer made.
  const OwnedJob owned(chain_of_two(), processor(), Assumptions{}, 1000);
  Plan plan;
  plan.global_batch = 24;
  const MemoryTimeline timeline = timeline_of(owned, plan);
  CHECK(timeline.peak_allocated.value() == 4 * 40000 + 2 * 9600);
  CHECK(timeline.peak_phase == StepPhase::backward);
  CHECK(timeline.peak_layer == 0);
  CHECK(timeline.at_peak[static_cast<std::size_t>(MemoryItem::gradients)].value() == 80000);
  CHECK(timeline.at_peak[static_cast<std::size_t>(MemoryItem::input)].value() == 9600);
  CHECK(timeline.at_peak[static_cast<std::size_t>(MemoryItem::activations)].value() == 9600);
  CHECK(timeline.rounding.value() == 0);
  // Momentum comes with the first update: then there are no tensors any more.
  plan.optimizer = Optimizer::momentum;
  CHECK(timeline_of(owned, plan).peak_allocated.value() == 6 * 40000 + 2 * 9600);
}

TEST_CASE("gradients that several backwards add to are there from the start") {
  const OwnedJob owned(chain_of_two(), processor(), Assumptions{}, 1000);
  Plan plan;
  plan.global_batch = 24;
  plan.micro_batches = 2;
  // Tensors of 4800 B. Backward of the second layer: the output of the first, the gradient it makes, and its matrix's
  // before that is added.
  CHECK(timeline_of(owned, plan).peak_allocated.value() == 4 * 40000 + 40000 + 3 * 4800);
}

/// Kernels of a step that were all measured, with so much scratch memory each.
MeasuredKernels measured_step(const Model& model, std::int64_t batch, Bytes workspace) {
  MeasuredKernels measured;
  measured.name = "test";
  const ModelFacts facts = facts_of(model);
  WholeLayers layers(facts, static_cast<double>(batch), Precision::fp32, Optimizer::sgd);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const ShardContext& context = layers.at(i);
    for (const ShardProblem& each : shard_problems(context, layers.shard()))
      measured.kernels.push_back({each.problem, {Seconds(1e-3), Seconds(1e-3), Seconds(1e-3)}, workspace});
  }
  return measured;
}

TEST_CASE("scratch memory of measured kernels is there while they run") {
  // As above: at the end of backward there are both matrices, both gradients, the batch and the gradient of the tensor
  // between the layers, and while the kernel of the last gradient runs, its scratch memory.
  MeasuredKernels measured = measured_step(chain_of_two(), 24, Bytes(1e5));
  Plan plan;
  plan.global_batch = 24;
  const auto with = [&](const MeasuredKernels& kernels) {
    const OwnedJob owned(chain_of_two(), processor(), Assumptions{}, 1000, std::nullopt, Precision::fp32, Optimizer::sgd, {},
                         &kernels);
    const MemoryTimeline timeline = timeline_of(owned, plan);
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), -1);
    const LayerCostTable table(owned.job, plan, kinds);
    MemoryBreakdown memory = stage_memory(owned.job, plan, table, 0, 0, 2);
    refine(memory, timeline);
    CHECK(memory.total().value() == Approx(timeline.peak_allocated.value()));
    return std::pair(timeline, memory);
  };
  const auto [timeline, memory] = with(measured);
  CHECK(timeline.peak_allocated.value() == 4 * 40000 + 2 * 9600 + 100000);
  CHECK(timeline.at_peak[static_cast<std::size_t>(MemoryItem::workspace)].value() == 1e5);
  CHECK(timeline.kernel_workspace.value() == 1e5);
  CHECK(memory.workspace.value() == 1e5);
  CHECK(memory.workspace_origin == MemoryOrigin::measured);
  CHECK(origin_of(memory, MemoryItem::workspace) == MemoryOrigin::measured);

  // Both layers have the same problem, and one of its measurements is enough. Where one kernel's is not known the item is
  // assumed; where it is estimated, modelled, and at most what it may be.
  MeasuredKernels unseen = measured;
  unseen.kernels[1].workspace.reset();
  CHECK(with(unseen).second.workspace_origin == MemoryOrigin::measured);
  for (MeasuredKernel& each : unseen.kernels) {
    if (each.problem.pass == Pass::forward) each.workspace.reset();
  }
  CHECK(with(unseen).second.workspace_origin == MemoryOrigin::assumed);
  plan.global_batch = 48;
  const MemoryBreakdown larger = with(measured).second;
  CHECK(larger.workspace_origin == MemoryOrigin::modelled);
  CHECK(larger.workspace.value() == 1e5);
  const double share = (2 * 4800 + 10000) / (2 * 2400 + 10000.0);
  CHECK(larger.uncertainty.value() == Approx(most_unusable(larger.allocated()).value() + 1e5 * (share - 1)).epsilon(0.001));
}

TEST_CASE("a step whose kernels take scratch memory needs no less, and no more than their largest beside") {
  for (const std::string name : {"alexnet", "resnet50", "vit_b_16", "gpt2", "unet"}) {
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      Plan plan;
      plan.global_batch = 4;
      plan.recompute = recompute;
      const Model model = load_model(name);
      const auto peak = [&](Bytes workspace) {
        const MeasuredKernels measured = measured_step(model, 4, workspace);
        const OwnedJob owned(model, processor(), Assumptions{}, 1000, std::nullopt, Precision::fp32, Optimizer::sgd, {},
                             &measured);
        const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), -1);
        const LayerCostTable table(owned.job, plan, kinds);
        const int last = static_cast<int>(model.layers.size());
        MemoryBreakdown memory = stage_memory(owned.job, plan, table, 0, 0, last);
        const double sum = memory.total().value();
        const MemoryTimeline timeline = memory_timeline(owned.job, plan, table, 0, 0, last);
        refine(memory, timeline);
        CHECK(memory.total().value() == Approx(timeline.peak_allocated.value()));
        CHECK(memory.workspace_origin == MemoryOrigin::measured);
        CHECK(memory.kernel_workspace <= workspace);
        return std::pair(timeline.peak_allocated.value(), sum);
      };
      INFO(name << (recompute == Recompute::full ? " recomputed" : ""));
      const auto [without, sum_without] = peak(Bytes(0));
      for (const double bytes : {1e6, 1e8, 1e10}) {
        const auto [with, sum] = peak(Bytes(bytes));
        CHECK(with >= without);
        CHECK(with <= without + bytes);
        CHECK(sum >= sum_without);
        CHECK(sum <= sum_without + bytes);
        // What a search looks at is no further off than without.
        CHECK(sum >= 0.97 * with);
      }
    }
  }
}

TEST_CASE("what is live at the peak adds up to it") {
  for (const std::string name : {"resnet50", "vit_b_16", "gpt2", "unet"}) {
    const OwnedJob owned(load_model(name), nodes_of_four(), Assumptions{}, 1000);
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      Plan plan;
      plan.global_batch = 2;
      plan.optimizer = Optimizer::adam;
      plan.recompute = recompute;
      const MemoryTimeline timeline = timeline_of(owned, plan);
      INFO(name);
      Bytes items{}, live{};
      for (const Bytes bytes : timeline.at_peak) items += bytes;
      for (const LiveMemory& each : timeline.live_at_peak) live += each.bytes;
      CHECK((items + timeline.rounding).value() == Approx(timeline.peak_allocated.value()));
      CHECK(live.value() == Approx(items.value()));
      CHECK(timeline.peak_reserved >= timeline.peak_allocated);
      CHECK(timeline.fits);
    }
  }
}

TEST_CASE("the sum that a search looks at is the timeline's peak") {
  // Of kept tensors the sum knows whose they are, not when their last reader was: it may be above.
  for (const std::string name : {"alexnet", "resnet50", "vgg16", "densenet121", "mobilenet_v2", "inception_v3", "vit_b_16",
                                 "swin_t", "convnext_tiny", "gpt2", "bert-large", "unet"}) {
    const OwnedJob owned(load_model(name), processor(), Assumptions{}, 1000);
    for (const std::int64_t batch : {1, 8, 64}) {
      Plan plan;
      plan.global_batch = batch;
      plan.optimizer = Optimizer::momentum;
      const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), -1);
      const LayerCostTable table(owned.job, plan, kinds);
      const int last = static_cast<int>(owned.model.layers.size());
      const double sum = stage_memory(owned.job, plan, table, 0, 0, last).allocated().value();
      const double peak = memory_timeline(owned.job, plan, table, 0, 0, last).peak_allocated.value();
      INFO(name << " at " << batch << ": " << sum / peak);
      CHECK(sum >= 0.97 * peak);
      CHECK(sum <= 1.1 * peak);
    }
  }
}

TEST_CASE("earlier micro-batches in flight keep what they need") {
  const OwnedJob owned(load_model("gpt2"), nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 2);
  plan.global_batch = 8;
  plan.micro_batches = 8;
  plan.precision = Precision::fp16;
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), -1);
  const LayerCostTable table(owned.job, plan, kinds);
  const int half = static_cast<int>(owned.model.layers.size()) / 2;
  const auto peak = [&](Schedule schedule) {
    plan.schedule = schedule;
    return memory_timeline(owned.job, plan, table, 0, 0, half).peak_allocated.value();
  };
  // Eight in flight against two.
  const double kept = table.kept(0, half).value();
  CHECK(peak(Schedule::gpipe) - peak(Schedule::one_forward_one_backward) == Approx(6 * kept).epsilon(0.02));
}

}  // namespace
