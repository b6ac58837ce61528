// Tests of what frameworks and their libraries add to the memory of tensors: gathered blocks of weights, temporaries of the
// update, reserved segments, communicators.

#include <string>
#include <utility>

#include "estimator/memory/memory.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/memory/unmodeled.hpp"
#include "estimator/search/memory_bounds.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// Eight blocks of 10,000 weights.
constexpr const char* eight_blocks = R"(format: 1
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

Plan sharded_plan() {
  Plan plan;
  plan.mesh.set(Axis::data, 4);
  plan.global_batch = 400;
  plan.optimizer = Optimizer::adam;
  plan.zero_stage = 3;
  return plan;
}

struct EightBlocks : OwnedJob {
  explicit EightBlocks(const Assumptions& assumptions)
      : OwnedJob(parse_model(eight_blocks, "eight_blocks.yaml"), nodes_of_four(), assumptions, 1000, std::nullopt,
                 Precision::fp32, Optimizer::adam) {}
  [[nodiscard]] MemoryBreakdown memory(const Plan& plan) const { return Estimator(job).estimate(plan).memory; }
};

TEST_CASE("a framework that gathers whole blocks is expected to hold two of them in forward and backward") {
  Assumptions by_units;
  by_units.gathers_units = true;
  const MemoryBreakdown units = EightBlocks(by_units).memory(sharded_plan()),
                        layers = EightBlocks({}).memory(sharded_plan());
  // Two blocks of 40,000 bytes, in place of three quarters of one. Without units, the upper bound has the second one.
  CHECK((units.weights - layers.weights).value() == Approx(50000));
  CHECK(layers.uncertainty.value() - units.uncertainty.value() == Approx(50000 * (1 - 0.052)).epsilon(0.02));
  // One device has copies of two blocks in half precision.
  Plan alone = sharded_plan();
  alone.mesh.set(Axis::data, 1);
  alone.zero_stage = 0;
  alone.precision = Precision::bf16;
  CHECK((EightBlocks(by_units).memory(alone).weights - EightBlocks({}).memory(alone).weights).value() == Approx(2 * 20000));
  Plan kept = sharded_plan();
  kept.reshard = false;
  // A rank has its shard of 20,000 weights in addition to the gathered ones.
  const MemoryBreakdown whole = EightBlocks(by_units).memory(kept);
  CHECK((whole.weights - EightBlocks({}).memory(kept).weights).value() == Approx(20000 * 4));
  CHECK(units.weights < whole.weights);
}

TEST_CASE("shards of weights in fp32 are the master copies, and count once") {
  Assumptions by_units;
  by_units.gathers_units = true;
  Plan plan = sharded_plan();
  plan.precision = Precision::bf16;
  const EightBlocks units(by_units), layers({});
  // Of 20,000 weights on a rank, 2 bytes count as weights, 2 as master copies, and 8 are Adam's.
  CHECK(units.memory(plan).optimizer.value() == Approx(20000 * 10));
  CHECK(layers.memory(plan).optimizer.value() == Approx(20000 * 12));
  CHECK(parameter_bytes(units.facts, plan, units.assumptions).gradient == 4);
  CHECK(parameter_bytes(layers.facts, plan, layers.assumptions).gradient == 2);
  plan.reshard = false;
  CHECK(units.memory(plan).optimizer.value() == Approx(20000 * 12));
}

TEST_CASE("frozen weights whose shards are gathered in half precision stay in fp32") {
  Assumptions by_units;
  by_units.gathers_units = true;
  ModelFacts facts;
  facts.parameters = 1000;
  facts.trained_parameters = 250;
  Plan plan = sharded_plan();
  plan.precision = Precision::bf16;
  const auto shard = [&] { return parameter_bytes(facts, plan, by_units).shard; };
  // Three of four weights are frozen: 2 bytes of each count as weights if blocks are gathered one by one, else none.
  CHECK(shard() == 0.75 * 2);
  plan.reshard = false;
  CHECK(shard() == 0.75 * 4);
  plan.zero_stage = 0;
  CHECK(shard() / plan.shards() == 0.75 * 2);
  plan.mesh.set(Axis::data, 1);
  CHECK(shard() == 0.75 * 2);
  by_units.base = BaseWeights::half;
  CHECK(shard() == 0);
  by_units = {};
  CHECK(shard() == 0);
}

TEST_CASE("autocast keeps the softmax in fp32, and in half precision what the next product reads") {
  const auto kept = [](MixedPrecision mixed, std::string_view dropout) {
    Assumptions assumptions;
    assumptions.mixed_precision = mixed;
    const OwnedJob owned(load_model("bert-base@layers=2@hidden=64@heads=4@vocabulary=100@tokens=32@fused=no@dropout=0" +
                                    std::string(dropout)),
                         nodes_of_four(), assumptions, 1000, std::nullopt, Precision::bf16, Optimizer::adam);
    Plan plan;
    plan.precision = Precision::bf16;
    const Estimator estimator(owned.job);
    return pass_peaks(estimator.stage(plan, 0)).earlier[MemoryItem::activations].value();
  };
  const double scores = 2 * 4 * 32 * 32;
  const auto added = [&](MixedPrecision mixed) { return kept(mixed, "@attention_dropout=0.1") - kept(mixed, ""); };
  // Dropout adds its mask, and its output if the product does not read a copy of the softmax anyway.
  CHECK(added(MixedPrecision::autocast) == scores);
  CHECK(added(MixedPrecision::half_gradients) == scores * (1 + 2));
}

TEST_CASE("a softmax in fp32 is kept in addition to its copy in half precision") {
  const auto kept = [](bool wide, std::string_view changes) {
    Assumptions assumptions;
    assumptions.wide_softmax = wide;
    const OwnedJob owned(load_model("bert-base@layers=2@hidden=64@heads=4@vocabulary=100@tokens=32" + std::string(changes)),
                         nodes_of_four(), assumptions, 1000, std::nullopt, Precision::bf16, Optimizer::adam);
    Plan plan;
    plan.precision = Precision::bf16;
    const Estimator estimator(owned.job);
    return pass_peaks(estimator.stage(plan, 0)).earlier[MemoryItem::activations].value();
  };
  const double scores = 2 * 4 * 32 * 32;
  CHECK(kept(true, "@fused=no@dropout=0") - kept(false, "@fused=no@dropout=0") == scores * 4);
  // What dropout reads is not kept in half precision.
  CHECK(kept(true, "@fused=no@dropout=0.1") - kept(false, "@fused=no@dropout=0.1") == scores * 2);
  CHECK(kept(true, "@dropout=0") == kept(false, "@dropout=0"));
}

TEST_CASE("only decoders and autocast convert logits to fp32 for a loss of operators") {
  const auto kept = [](std::string_view model, MixedPrecision mixed) {
    Assumptions assumptions;
    assumptions.mixed_precision = mixed;
    const OwnedJob owned(load_model(std::string(model) + "@layers=2@hidden=64@heads=4@vocabulary=1000@tokens=32@dropout=0"),
                         nodes_of_four(), assumptions, 1000, std::nullopt, Precision::bf16, Optimizer::adam);
    CHECK(owned.facts.widens_logits == (model == "gpt2"));
    Plan plan;
    plan.precision = Precision::bf16;
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
    const LayerCostTable costs(owned.job, plan, kinds);
    return costs.memory(static_cast<int>(owned.model.layers.size()) - 1).kept[0].value();
  };
  using enum MixedPrecision;
  // BERT's loss also reads the 64 elements of the pooler.
  const double logits = 32 * 1000;
  CHECK(kept("bert-base", pure) == (logits + 64) * 2);
  CHECK(kept("bert-base", autocast) == (logits + 64) * 4);
  CHECK(kept("gpt2", pure) == logits * 4);
}

TEST_CASE("stages under a framework that gathers blocks hold whole weights and gradients between micro-batches") {
  Assumptions by_units;
  by_units.gathers_units = true;
  by_units.gradient_sums = GradientSums::full;
  Plan plan = sharded_plan();
  plan.mesh.set(Axis::pipeline, 2);
  plan.precision = Precision::bf16;
  plan.micro_batches = 4;
  const MemoryBreakdown whole = EightBlocks(by_units).memory(plan), layers = EightBlocks({}).memory(plan);
  // A stage has 40,000 weights: 2 bytes for a weight, 4 bytes for a sum of gradients.
  CHECK(whole.weights.value() == Approx(40000 * 2));
  CHECK(whole.gradients.value() >= 40000 * 4);
  CHECK(whole.optimizer == layers.optimizer);
  CHECK(layers.weights.value() < 40000);
  by_units.gradient_sums.reset();
  CHECK(EightBlocks(by_units).memory(plan).gradients < whole.gradients);
  CHECK(holds_whole(plan, by_units));
  plan.mesh.set(Axis::data, 1);
  CHECK_FALSE(holds_whole(plan, by_units));
}

TEST_CASE("ranks that exchange gradients after the last micro-batch hold whole gradients until then") {
  Assumptions sharded;
  sharded.gathers_units = true;
  Assumptions summed = sharded;
  summed.accumulates_whole = true;
  Plan plan = sharded_plan();
  plan.precision = Precision::bf16;
  const auto gradients = [&](const Assumptions& assumptions) {
    const EightBlocks owned(assumptions);
    const Estimator estimator(owned.job);
    const StageOf stage = estimator.stage(plan, 0);
    return stage_peaks(stage).in_backward[MemoryItem::gradients].value();
  };
  CHECK(gradients(summed) == gradients(sharded));
  plan.micro_batches = 4;
  // 80,000 gradients of 2 bytes, in place of a quarter of them with 4 bytes.
  CHECK(gradients(summed) - gradients(sharded) == 80000 * 2 - 80000 * 4 / 4);
  for (const int stage : {1, 2, 3}) {
    plan.zero_stage = stage;
    CHECK(sums_whole(plan, summed) == (stage >= 2));
    CHECK(memory_lower_bound(EightBlocks(summed).job, plan) <= EightBlocks(summed).memory(plan).total());
  }
  // Ranks still gather weights for every micro-batch.
  const EightBlocks owned(summed);
  CHECK(exchanged_bytes(plan, summed, owned.facts).is_scattered_once);
  CHECK_FALSE(exchanged_bytes(plan, summed, owned.facts).is_once_a_step);
  CHECK_FALSE(sums_whole(plan, sharded));
}

TEST_CASE("the least memory of a family bounds its plans that shard less than stages hold") {
  Assumptions by_units;
  by_units.gathers_units = true;
  by_units.gradient_sums = GradientSums::full;
  const EightBlocks blocks(by_units);
  Plan plan = sharded_plan();
  plan.mesh.set(Axis::pipeline, 2);
  plan.precision = Precision::bf16;
  for (const int stage : {0, 1, 2, 3}) {
    plan.zero_stage = stage;
    CHECK(memory_lower_bound(blocks.job, plan) <=
          parameter_memory({40000, 40000, 0, 0}, plan, parameter_bytes(blocks.facts, plan, by_units)).total());
  }
}

TEST_CASE("an update over all tensors has a temporary of each rank's shard") {
  Assumptions for_each;
  for_each.update = UpdateImplementation::foreach;
  const auto in_update = [](const Assumptions& assumptions) {
    const EightBlocks owned(assumptions);
    const Plan plan = sharded_plan();
    const Estimator estimator(owned.job);
    return resident_peaks(estimator.stage(plan, 0)).in_update.items[static_cast<std::size_t>(MemoryItem::workspace)].value();
  };
  // Without temporaries, the update requests nothing. With them, the workspace of cuBLAS exists at the same time.
  CHECK(in_update({}) == 0);
  CHECK(in_update(for_each) - library_workspace(nodes_of_four().device).expected.value() == Approx(8 * 10000 * 4 / 4));

  Plan plan = sharded_plan();
  plan.precision = Precision::bf16;
  CHECK(update_scratch_bytes(plan, {}) == 0);
  // Shards of weights in half precision are in fp32, unless all state is in half precision.
  CHECK(update_scratch_bytes(plan, for_each) == 4);
  for_each.mixed_precision = MixedPrecision::pure;
  CHECK(update_scratch_bytes(plan, for_each) == 2);
  plan.offload = Offload::optimizer;
  CHECK(update_scratch_bytes(plan, for_each) == 0);
}

/// Returns the bytes of weights and optimizer state of a Llama of GaLore's sizes in bf16, in GiB.
double state_of_llama(const std::string& sizes, double rank, Optimizer optimizer) {
  Assumptions assumptions;
  assumptions.mixed_precision = MixedPrecision::pure;
  assumptions.projection_rank = rank;
  const OwnedJob owned(load_model("llama@vocabulary=32000@tokens=256" + sizes), nodes_of_four(), assumptions, 1000,
                       std::nullopt, Precision::bf16, optimizer);
  Plan plan;
  plan.precision = Precision::bf16;
  plan.optimizer = optimizer;
  const ParameterBytes each = parameter_bytes(owned.job.facts, plan, assumptions);
  constexpr double gib = 1024.0 * 1024 * 1024;
  return owned.job.facts.parameters * (each.weight + each.optimizer) / gib;
}

TEST_CASE("GaLore and Adam have the memory that GaLore's authors estimate") {
  // Zhao et al., "GaLore", ICML 2024, table 2: weights and optimizer state in bf16, in G.
  const std::string tiny = "@layers=8@hidden=512@heads=8@feed_forward=1376",
                    small = "@layers=12@hidden=768@heads=12@feed_forward=2048",
                    middle = "@layers=24@hidden=1024@heads=16@feed_forward=2736",
                    large = "@layers=24@hidden=2048@heads=32@feed_forward=5461";
  CHECK(state_of_llama(tiny, 128, Optimizer::adam) == Approx(0.36).epsilon(0.1));
  CHECK(state_of_llama(tiny, 128, Optimizer::galore) == Approx(0.24).epsilon(0.1));
  CHECK(state_of_llama(small, 256, Optimizer::galore) == Approx(0.52).epsilon(0.1));
  CHECK(state_of_llama(middle, 256, Optimizer::galore) == Approx(1.22).epsilon(0.1));
  CHECK(state_of_llama(large, 512, Optimizer::galore) == Approx(4.38).epsilon(0.05));
  // Table 3: 7B with 8 bits, rank 1024.
  const std::string largest = "@layers=32@hidden=4096@heads=32@feed_forward=11008";
  CHECK(state_of_llama(largest, 1024, Optimizer::galore8bit) == Approx(18).epsilon(0.05));
  CHECK(state_of_llama(largest, 1024, Optimizer::adam8bit) == Approx(26).epsilon(0.05));
  CHECK(state_of_llama(largest, 1024, Optimizer::apollo) == Approx(state_of_llama(largest, 1024, Optimizer::galore)));
}

TEST_CASE("an update in backward leaves one gradient at a time, and projects one matrix at a time") {
  Plan plan = sharded_plan();
  plan.zero_stage = 0;
  plan.mesh.set(Axis::data, 1);
  Assumptions fused;
  fused.updates_in_backward = true;
  const Bytes less = EightBlocks({}).memory(plan).total() - EightBlocks(fused).memory(plan).total();
  // At most all gradients: the peak moves to the beginning of backward, where most activations are kept.
  CHECK(less > Bytes{});
  CHECK(less.value() <= 8 * 10000 * 4 * 1.02);
  CHECK(frees_gradients(plan, fused));
  CHECK_FALSE(has_whole_gradients(plan, fused));
  // A copy of the gradient, the library's copy, and both matrices of singular vectors.
  plan.optimizer = Optimizer::galore;
  CHECK(projection_scratch(EightBlocks({}).job.facts, plan, {}).value() == 4 * 10000 * 4);
  plan.optimizer = Optimizer::apollo;
  CHECK(projection_scratch(EightBlocks({}).job.facts, plan, {}).value() == 2 * 10000 * 4);
  plan.optimizer = Optimizer::adam;
  CHECK(projection_scratch(EightBlocks({}).job.facts, plan, {}).value() == 0);
}

/// Returns the bytes of activations of a Llama whose blocks are recomputed, with an MLP in so many tiles.
double activations_with_tiles(std::optional<double> tiles) {
  Assumptions assumptions;
  assumptions.mlp_tiles = tiles;
  assumptions.cross_entropy = CrossEntropy::linear;
  const OwnedJob owned(load_model("llama@layers=4@hidden=64@heads=4@feed_forward=1024@vocabulary=100@tokens=512"),
                       nodes_of_four(), assumptions, 1000, std::nullopt, Precision::bf16);
  Plan plan;
  plan.precision = Precision::bf16;
  plan.recompute = Recompute::full;
  return Estimator(owned.job).estimate(plan).memory.activations.value();
}

TEST_CASE("with tiles, an MLP needs the intermediate tensors of one tile of tokens") {
  const double whole = activations_with_tiles(std::nullopt);
  // gate, up, their product, and gradients of both: at least three tensors of 512 × 1024 exist in backward of the last MLP.
  CHECK(whole - activations_with_tiles(8) > 3 * 512 * 1024 * 2 * (7.0 / 8));
  // 512 tokens and 64 channels make eight tiles.
  CHECK(activations_with_tiles(0) == activations_with_tiles(8));
  CHECK(activations_with_tiles(1) == whole);
  CHECK(activations_with_tiles(1000) == activations_with_tiles(512));
}

TEST_CASE("a graph computes the update's products with constants before forward") {
  Plan plan = sharded_plan();
  plan.zero_stage = 0;
  plan.mesh.set(Axis::data, 1);
  Assumptions graph;
  graph.graph_update = true;
  CHECK(early_update_bytes(plan, {}) == 0);
  // Both moments; with weight decay the weights, too.
  CHECK(early_update_bytes(plan, graph) == 8);
  plan.optimizer = Optimizer::adamw;
  CHECK(early_update_bytes(plan, graph) == 12);
  const Bytes more = EightBlocks(graph).memory(plan).total() - EightBlocks({}).memory(plan).total();
  CHECK(more.value() == Approx(8 * 10000 * 12).epsilon(0.01));
}

TEST_CASE("a rank of FSDP that saves all weights holds them once more, and not at the peak of backward") {
  Assumptions by_units;
  by_units.gathers_units = true;
  by_units.saves_whole = true;
  const Plan plan = sharded_plan();
  const EightBlocks saving(by_units);
  const Estimator estimator(saving.job);
  const StageOf stage = estimator.stage(plan, 0);
  CHECK(saved_weights(stage).value() == 8 * 10000 * 4);
  const ResidentPeaks resident = resident_peaks(stage);
  CHECK((resident.in_save.allocated - resident.stays.allocated).value() == Approx(8 * 10000 * 4).epsilon(0.01));
  // The peak of backward has activations of 100 samples, which are gone when the rank saves.
  StagePeaks peaks = stage_peaks(stage);
  CHECK(stage_memory(stage, &peaks).allocated() >= resident.in_save.allocated);
  peaks.in_save.allocated = peaks.in_backward.allocated * 2;
  CHECK(stage_memory(stage, &peaks).allocated().value() == Approx(peaks.in_save.allocated.value()));
  by_units.saves_whole = false;
  CHECK(saved_weights(Estimator(EightBlocks(by_units).job).stage(plan, 0)) == Bytes{});
}

TEST_CASE("memory of other models is part of the weights, and of what the allocator reserves") {
  Assumptions with_others;
  with_others.other_models = 1e6;
  const EightBlocks owned(with_others);
  const MemoryBreakdown memory = owned.memory(sharded_plan()), alone = EightBlocks({}).memory(sharded_plan());
  CHECK((memory.weights - alone.weights).value() == 1e6);
  const Plan plan = sharded_plan();
  const Estimator estimator(owned.job);
  CHECK(memory_timeline(estimator.stage(plan, 0)).peak.allocated >= alone.allocated() + Bytes(1e6));
}

TEST_CASE("TensorFlow 1 leaves 5 % of the device to libraries") {
  Device device = nodes_of_four().device;
  Assumptions pool;
  pool.takes_device = true;
  // A V100 of 16,945,512,448 bytes has a limit of 15,753,943,450 bytes [salesforce/ctrl, issue 43].
  device.memory = Bytes(16945512448.0);
  CHECK((device.memory - context_bytes(device, pool).expected).value() == Approx(15753943450.0).epsilon(0.005));
  CHECK(context_bytes(device, Assumptions{}).expected == context_bytes(device).expected);
}

TEST_CASE("with expandable segments, as much is reserved as is allocated") {
  const auto more = [](bool expandable) {
    Assumptions assumptions;
    assumptions.expandable_segments = expandable;
    const EightBlocks owned(assumptions);
    const Plan plan = sharded_plan();
    const Estimator estimator(owned.job);
    const MemoryTimeline timeline = memory_timeline(estimator.stage(plan, 0), {});
    return (timeline.peak_reserved - timeline.peak.allocated).value();
  };
  CHECK(more(false) > 0);
  CHECK(more(true) == Approx(0).margin(1));
}

TEST_CASE("eager operators may keep more than their inputs only with adapters, or if keys are repeated") {
  Assumptions eager;
  eager.composites = CompositeKernels::operators;
  const auto more = [&](const std::string& changes) {
    const OwnedJob owned(load_model("llama@layers=2@hidden=64@heads=4@feed_forward=128@vocabulary=100@tokens=32" + changes),
                         nodes_of_four(), eager, 1000, std::nullopt, Precision::bf16);
    Plan plan;
    plan.global_batch = 4;
    plan.precision = Precision::bf16;
    const Estimator estimator(owned.job);
    return most_unmodeled(estimator.stage(plan, 0), Bytes(100)).value();
  };
  CHECK(more("@kv_heads=4") == 0);
  CHECK(more("@kv_heads=2") == Approx(22));
  CHECK(more("@kv_heads=4@lora=4") == Approx(22));
}

/// Returns the bytes of activations of two layers with adapters of queries and values, for four samples of 32 tokens.
double kept_with_adapters(const Assumptions& assumptions, const std::string& changes = "") {
  const OwnedJob owned(load_model("llama@layers=2@hidden=64@heads=4@feed_forward=128@vocabulary=100@tokens=32@lora=4"
                                  "@lora_layers=q_proj+v_proj" +
                                  changes),
                       nodes_of_four(), assumptions, 1000, std::nullopt, Precision::bf16);
  Plan plan;
  plan.global_batch = 4;
  plan.precision = Precision::bf16;
  return Estimator(owned.job).estimate(plan).memory.activations.value();
}
constexpr double adapted_positions = 2 * 4 * 32;

TEST_CASE("each adapter in fp32 keeps a copy of its input, and autocast keeps the copy in half precision") {
  const auto kept = [](AdapterPrecision adapters) {
    Assumptions assumptions;
    assumptions.adapters = adapters;
    return kept_with_adapters(assumptions);
  };
  using enum AdapterPrecision;
  // Two layers of two adapters, 64 channels, rank 4. The copies replace the input.
  CHECK(kept(fp32) - kept(half) == Approx(adapted_positions * (64 * (2 * 4 - 2) + 2 * 4 * 2)).epsilon(0.02));
  CHECK(kept(autocast) - kept(half) == Approx(adapted_positions * 64 * (2 * 2 - 2)).epsilon(0.02));
}

TEST_CASE("with dropout, each adapter keeps an input of its own and a mask of one byte an element") {
  // The input that adapters without dropout share is not kept.
  const double more = 2 * 64 * (2 + 1) - 64 * 2;
  CHECK(kept_with_adapters({}, "@lora_dropout=0.1") - kept_with_adapters({}) ==
        Approx(adapted_positions * more).epsilon(0.02));
  CHECK(kept_with_adapters({}, "@lora_dropout=0") == kept_with_adapters({}));
}

TEST_CASE("DoRA keeps the results of the matrix and of the adapter, LoHa and LoKr whole matrices") {
  const auto more = [](AdapterPrecision adapters, const std::string& kind) {
    Assumptions assumptions;
    assumptions.adapters = adapters;
    return kept_with_adapters(assumptions, "@adapter=" + kind) - kept_with_adapters(assumptions);
  };
  using enum AdapterPrecision;
  // Two layers with adapters of queries and values of 64 × 64, which each have 64 outputs. The adapter's result is in fp32
  // with adapters in fp32.
  // The first layer's input has no gradient, so that its matrices are not kept.
  const double outputs = adapted_positions * 2 * 64, matrices = 2 * 64 * 64, of_rank = adapted_positions * 2 * 4;
  CHECK(more(half, "dora") == Approx(outputs * (2 + 2)).epsilon(0.03));
  CHECK(more(fp32, "dora") == Approx(outputs * (2 + 4)).epsilon(0.03));
  CHECK(more(half, "loha") == Approx(matrices * 2 - of_rank * 2).epsilon(0.03));
  CHECK(more(fp32, "lokr") == Approx(matrices * 4 - of_rank * 4).epsilon(0.03));
}

TEST_CASE("products with quantized weights may keep their inputs, or copies of them in fp32") {
  const auto kept = [](QuantizedInputs inputs) {
    Assumptions assumptions;
    assumptions.base = BaseWeights::nf4;
    assumptions.quantized_inputs = inputs;
    return kept_with_adapters(assumptions);
  };
  // Inputs of queries, keys and values, of the projection, and of gate, up and down. The adapters of queries and values keep
  // the first of them in half precision anyway.
  const double items = adapted_positions * (4 * 64 + 128), others = adapted_positions * (3 * 64 + 128);
  using enum QuantizedInputs;
  CHECK(kept(half) - kept(none) == Approx(others * 2).epsilon(0.02));
  CHECK(kept(fp32) - kept(none) == Approx(items * 4).epsilon(0.02));
}

TEST_CASE("a TPU has neither communicators of a library nor a driver context") {
  Plan plan = sharded_plan();
  Device device = nodes_of_four().device;
  CHECK(communication_buffers(plan, device).expected > Bytes{});
  // On a device before A100, less is expected, but no less was measured at most.
  const Bytes most = communication_buffers(plan, device).most;
  device.compute_capability = 7.0;
  CHECK(communication_buffers(plan, device).most == most);
  device.is_tpu = true;
  CHECK(communicators_of(plan, device).empty());
  CHECK(communication_buffers(plan, device, EngineGroups::none, 3).most == Bytes{});
  CHECK(context_bytes(device).most == Bytes{});
  CHECK(library_workspace(device).most == Bytes{});
}

}  // namespace
