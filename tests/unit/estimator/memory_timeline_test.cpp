#include "estimator/memory/memory_timeline.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/csv.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "estimator/memory/stage_memories.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"
#include "tests/unit/estimator/small_models.hpp"

namespace {

using namespace ddl;

Machine processor() {
  Machine machine = nodes_of_four();
  machine.device.is_processor = true;
  return machine;
}

MemoryTimeline timeline_of(const OwnedJob& owned, const Plan& plan) {
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
  const LayerCostTable table(owned.job, plan, kinds);
  return memory_timeline({owned.job, plan, table, 0, static_cast<int>(owned.model.layers.size())});
}

TEST_CASE("the tensors kept for backward are the tensors that PyTorch saves") {
  // The expected bytes are in torch_saved_bytes.csv, without the batch. The exceptions have the bytes that are missing or
  // too many per sample and per step. inception_v3 has three numbers between its two losses. ViT has a tensor as large as
  // the batch (196 patches of 768), and the twelve numbers of 8 bytes that queries are divided by. ConvNeXt has the factor
  // of the first block's stochastic depth, whose rate is 0, in the rows by the layers of the model file. GoogLeNet has six
  // numbers. The rows from shufflenet_v2_x1_0 on were measured with PyTorch 2.9, whose mean over all positions does not keep
  // Swin's last norm of 768 by 7 by 7, or 8 by 8; Swin's first block has two factors.
  struct Difference {
    double sample = 0, step = 0;
  };
  const std::map<std::string, Difference> differences{{"inception_v3", {0, 12}},
                                                      {"vit_b_16@fused=no", {196 * 768 * 4, 12 * 8}},
                                                      {"convnext_tiny", {-4, 0}},
                                                      {"swin_t", {-768 * 49 * 4 - 2 * 4, 0}},
                                                      {"swinv2_tiny_window8_256", {-768 * 64 * 4 - 2 * 4, 0}},
                                                      {"googlenet", {0, 24}}};
  const CsvTable table = CsvTable::load(DATA_FOLDER "torch_saved_bytes.csv");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const OwnedJob owned(load_model(std::string(table.cell(row, table.column("model")))), processor(), Assumptions{}, 1000);
    Plan plan;
    plan.global_batch = static_cast<std::int64_t>(*table.number(row, table.column("batch")));
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
    const LayerCostTable costs(owned.job, plan, kinds);
    const StagePeaks peaks = stage_peaks({owned.job, plan, costs, 0, static_cast<int>(owned.model.layers.size())});
    const double ours = peaks.earlier[MemoryItem::activations].value();
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

TEST_CASE("operators of norms and activations keep the tensors that PyTorch saves") {
  // transformers_saved_bytes.csv has the bytes. Differences are the indices of the labels, angles of rotary embeddings, and
  // values that the program counts both before and after the norm of queries and keys.
  const CsvTable table = CsvTable::load(DATA_FOLDER "transformers_saved_bytes.csv");
  REQUIRE(table.rows() == 24);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Assumptions assumptions;
    assumptions.composites = CompositeKernels::operators;
    if (table.cell(row, table.column("base")) == "nf4") assumptions.base = BaseWeights::nf4;
    const Precision precision = *parse_enum<Precision>(std::string(table.cell(row, table.column("precision"))));
    const OwnedJob owned(load_model(std::string(table.cell(row, table.column("model")))), processor(), assumptions, 1000,
                         std::nullopt, precision);
    Plan plan;
    plan.precision = precision;
    plan.global_batch = static_cast<std::int64_t>(*table.number(row, table.column("batch")));
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
    const LayerCostTable costs(owned.job, plan, kinds);
    const StagePeaks peaks = stage_peaks({owned.job, plan, costs, 0, static_cast<int>(owned.model.layers.size())});
    INFO(owned.model.name << " in " << to_string(precision));
    CHECK(peaks.earlier[MemoryItem::activations].value() ==
          Approx(*table.number(row, table.column("saved_bytes"))).epsilon(0.015));
  }
}

TEST_CASE("a step's memory peak equals PyTorch's peak on a processor") {
  // The expected bytes are in torch_step_peak.csv: parameters, activations and gradients, without
  // the batch and without buffers. The slots of the update are allocated after the peak.
  const CsvTable table = CsvTable::load(DATA_FOLDER "torch_step_peak.csv");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const OwnedJob owned(load_model(std::string(table.cell(row, table.column("model")))), processor(), Assumptions{}, 1000);
    Plan plan;
    plan.global_batch = static_cast<std::int64_t>(*table.number(row, table.column("batch")));
    const MemoryTimeline timeline = timeline_of(owned, plan);
    const double batch = *table.number(row, table.column("input_bytes"));
    const double measured = *table.number(row, table.column("step_peak_fwd_bwd"));
    INFO(owned.model.name << " at " << plan.global_batch);
    INFO((timeline.peak.allocated.value() - batch) / measured - 1);
    CHECK(timeline.peak.allocated.value() - batch == Approx(measured).epsilon(0.03));
  }
}

TEST_CASE("gradients appear in backward and stay until the update") {
  // Tensors have 24 · 100 · 4 = 9600 B, and matrices 40,000 B. In backward of the first layer,
  // there are both matrices and their gradients, the batch, and the gradient from the second layer.
  const OwnedJob owned(chain_of(2), processor(), Assumptions{}, 1000);
  Plan plan;
  plan.global_batch = 24;
  const MemoryTimeline timeline = timeline_of(owned, plan);
  CHECK(timeline.peak.allocated.value() == 4 * 40000 + 2 * 9600);
  CHECK(timeline.peak_phase == StepPhase::backward);
  CHECK(timeline.peak_layer == 0);
  CHECK(timeline.peak[MemoryItem::gradients].value() == 80000);
  CHECK(timeline.peak[MemoryItem::input].value() == 9600);
  CHECK(timeline.peak[MemoryItem::activations].value() == 9600);
  CHECK(timeline.rounding().value() == 0);
  // Momentum is allocated in the first update, when no activations exist, and is kept in later steps.
  plan.optimizer = Optimizer::momentum;
  CHECK(timeline_of(owned, plan).peak.allocated.value() == 6 * 40000 + 2 * 9600);
}

TEST_CASE("gradients that several backward passes accumulate exist from the start") {
  const OwnedJob owned(chain_of(2), processor(), Assumptions{}, 1000);
  Plan plan;
  plan.global_batch = 24;
  plan.micro_batches = 2;
  // Tensors have 4800 B. Backward of the second layer has the output of the first layer, the
  // gradient that it computes, and the gradient of its matrix before accumulation.
  CHECK(timeline_of(owned, plan).peak.allocated.value() == 4 * 40000 + 40000 + 3 * 4800);
}

/// Returns a step with kernels that were all measured, each with this much scratch memory.
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

TEST_CASE("scratch memory of measured kernels exists while they run") {
  // At the end of backward, there are both matrices, both gradients, the batch, and the gradient of the tensor between the
  // layers. While the kernel of the last gradient runs, there is also its scratch memory.
  MeasuredKernels measured = measured_step(chain_of(2), 24, Bytes(1e5));
  Plan plan;
  plan.global_batch = 24;
  const auto with = [&](const MeasuredKernels& kernels) {
    const OwnedJob owned(chain_of(2), processor(), Assumptions{}, 1000, std::nullopt, Precision::fp32, Optimizer::sgd, {},
                         &kernels);
    const MemoryTimeline timeline = timeline_of(owned, plan);
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
    const LayerCostTable table(owned.job, plan, kinds);
    const MemoryBreakdown memory = stage_memory({owned.job, plan, table, 0, 2});
    CHECK(memory.total().value() == Approx(timeline.peak.allocated.value()));
    return std::pair(timeline, memory);
  };
  const auto [timeline, memory] = with(measured);
  CHECK(timeline.peak.allocated.value() == 4 * 40000 + 2 * 9600 + 100000);
  CHECK(timeline.peak[MemoryItem::workspace].value() == 1e5);
  CHECK(timeline.peak.passing.value() == 1e5);
  CHECK(memory.workspace.value() == 1e5);
  CHECK(memory.workspace_origin == MemoryOrigin::measured);
  CHECK(origin_of(memory, MemoryItem::workspace) == MemoryOrigin::measured);

  // Both layers have the same problem, so one measurement is sufficient. If the scratch memory of one kernel is unknown, the
  // item is assumed. If it is estimated, the item is modeled, with an upper bound.
  MeasuredKernels unseen = measured;
  unseen.kernels[1].workspace.reset();
  CHECK(with(unseen).second.workspace_origin == MemoryOrigin::measured);
  for (MeasuredKernel& each : unseen.kernels) {
    if (each.problem.pass == Pass::forward) each.workspace.reset();
  }
  CHECK(with(unseen).second.workspace_origin == MemoryOrigin::assumed);
  plan.global_batch = 48;
  const MemoryBreakdown larger = with(measured).second;
  CHECK(larger.workspace_origin == MemoryOrigin::modeled);
  CHECK(larger.workspace.value() == 1e5);
  const double share = (2 * 4800 + 10000) / (2 * 2400 + 10000.0);
  CHECK(larger.uncertainty.value() == Approx(most_unusable(larger.allocated()).value() + 1e5 * (share - 1)).epsilon(0.001));
}

TEST_CASE("scratch memory adds at most the largest kernel's scratch memory to the peak of a step") {
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
        const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
        const LayerCostTable table(owned.job, plan, kinds);
        const int last = static_cast<int>(model.layers.size());
        const MemoryBreakdown memory = stage_memory({owned.job, plan, table, 0, last});
        CHECK(memory.workspace_origin == MemoryOrigin::measured);
        CHECK(memory.kernel_workspace <= workspace);
        return memory.total().value();
      };
      INFO(name << (recompute == Recompute::full ? " recomputed" : ""));
      const double without = peak(Bytes(0));
      for (const double bytes : {1e6, 1e8, 1e10}) {
        const double with = peak(Bytes(bytes));
        CHECK(with >= without);
        CHECK(with <= without + bytes);
      }
    }
  }
}

TEST_CASE("the live tensors at the peak add up to the peak") {
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
      for (const Bytes bytes : timeline.peak.items) items += bytes;
      for (const LiveMemory& each : timeline.live_at_peak) live += each.bytes;
      CHECK((items + timeline.rounding()).value() == Approx(timeline.peak.allocated.value()));
      CHECK(live.value() == Approx(items.value()));
      CHECK(timeline.peak_reserved >= timeline.peak.allocated);
      CHECK(timeline.fits);
    }
  }
}

/// The models have all structures: chains, branches, repeated blocks, an encoder with a decoder, tied weights.
const std::vector<std::string> models{"alexnet",  "resnet50", "vgg16",         "densenet121", "mobilenet_v2", "inception_v3",
                                      "vit_b_16", "swin_t",   "convnext_tiny", "gpt2",        "bert-large",   "t5-large",
                                      "unet",     "gnmt",     "dlrm",          "llama3-8b"};

TEST_CASE("the peak that a search uses equals the peak of the timelines of all stages") {
  // A search counts equal repetitions of layers and earlier micro-batches, whereas the timeline visits all of them.
  for (const Machine& machine : {processor(), nodes_of_four()}) {
    for (const std::string& name : models) {
      for (const Precision precision : {Precision::fp32, Precision::fp16}) {
        Assumptions assumptions;
        if (precision == Precision::fp16 && name != "gpt2") assumptions.mixed_precision = MixedPrecision::autocast;
        const OwnedJob owned(load_model(name), machine, assumptions, 1000, std::nullopt, precision, Optimizer::adam);
        const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
        const int count = static_cast<int>(owned.model.layers.size());
        for (const Recompute recompute : {Recompute::none, Recompute::full}) {
          for (const int stages : {1, 3}) {
            Plan plan;
            plan.mesh.set(Axis::data, 2);
            plan.mesh.set(Axis::pipeline, stages);
            plan.global_batch = 24;
            plan.micro_batches = stages == 1 ? 1 : 6;
            plan.recompute = recompute;
            plan.precision = precision;
            plan.optimizer = Optimizer::adam;
            plan.zero_stage = stages == 1 && precision == Precision::fp16 ? 2 : 0;
            const LayerCostTable table(owned.job, plan, kinds);
            for (int stage = 0; stage < stages; ++stage) {
              // Cuts may be at any place, also in the middle of blocks.
              const int first = count * stage / stages, last = count * (stage + 1) / stages;
              const MemoryBreakdown memory = stage_memory({owned.job, plan, table, first, last, stage});
              const MemoryTimeline timeline = memory_timeline({owned.job, plan, table, first, last, stage});
              INFO(name << ", " << to_string(precision) << (recompute == Recompute::full ? " recomputed" : "") << ", stage "
                        << stage << " of " << stages);
              CHECK(memory.allocated().value() == Approx(timeline.peak.allocated.value()).epsilon(1e-9));
              CHECK(memory.weights.value() == Approx(timeline.peak[MemoryItem::weights].value()).epsilon(1e-9));
              CHECK(memory.workspace.value() == Approx(timeline.peak[MemoryItem::workspace].value()).epsilon(1e-9));
            }
          }
        }
      }
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
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
  const LayerCostTable table(owned.job, plan, kinds);
  const int half = static_cast<int>(owned.model.layers.size()) / 2;
  const auto peak = [&](Schedule schedule) {
    plan.schedule = schedule;
    return memory_timeline({owned.job, plan, table, 0, half}).peak.allocated.value();
  };
  // Eight micro-batches in flight are compared with two.
  const double kept = stage_peaks({owned.job, plan, table, 0, half}).earlier.allocated.value();
  CHECK(peak(Schedule::gpipe) - peak(Schedule::one_forward_one_backward) == Approx(6 * kept));
}

TEST_CASE("with DualPipe, a rank keeps few micro-batches of one stage and many of the stage at the other end") {
  const OwnedJob owned(load_model("gpt2"), nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 4);
  plan.global_batch = 8;
  plan.micro_batches = 8;
  plan.precision = Precision::fp16;
  plan.schedule = Schedule::dual_pipe;
  const SplitTables tables(owned.job);
  const StageMemories memories(tables);
  const int count = static_cast<int>(owned.model.layers.size());
  const std::vector<int> firsts{0, count / 4, count / 2, count * 3 / 4, count};
  const MemoryState of_first = memories.kept(plan, firsts[0], firsts[1]),
                    of_last = memories.kept(plan, firsts[3], firsts[4]);
  // The last stage has the logits of GPT-2, 50,257 numbers a token.
  REQUIRE(of_last.allocated > of_first.allocated * 2.0);
  for (const int stage : {0, 1, 2, 3}) {
    INFO("stage " << stage);
    const StageOf own = memories.stage(plan, firsts, stage);
    const MemoryBreakdown memory = memories.memory(plan, firsts, stage);
    CHECK(memory.allocated().value() == Approx(memory_timeline(own).peak.allocated.value()).epsilon(1e-9));
    CHECK(memory.allocated().value() == Approx(stage_memory(own).allocated().value()).epsilon(1e-9));
  }
  // In figure 5 of the DeepSeek-V3 technical report, the rank of the last stage runs one backward of it after each forward,
  // while four micro-batches of the first stage wait for theirs.
  const StagePeaks last = stage_peaks(memories.stage(plan, firsts, 3));
  CHECK(memories.memory(plan, firsts, 3).allocated().value() ==
        Approx((last.in_backward.allocated + of_first.allocated * 4.0).value()).epsilon(1e-9));
}

}  // namespace
