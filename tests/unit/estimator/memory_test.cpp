#include "estimator/memory/memory.hpp"

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "estimator/layers/stage_balance.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"
#include "tests/unit/estimator/small_models.hpp"

namespace {

using namespace ddl;

/// Returns the memory of one stage of a plan, with layers [first, last).
MemoryBreakdown memory_of(const OwnedJob& owned, const Plan& plan, int stage, int first, int last) {
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
  const LayerCostTable table(owned.job, plan, kinds);
  return stage_memory({owned.job, plan, table, first, last, stage});
}

MemoryBreakdown whole_memory(const OwnedJob& owned, const Plan& plan) {
  return memory_of(owned, plan, 0, 0, static_cast<int>(owned.model.layers.size()));
}

/// Returns the memory that a micro-batch keeps between its forward and its backward.
double kept_by(const OwnedJob& owned, const Plan& plan, int first, int last) {
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
  const LayerCostTable table(owned.job, plan, kinds);
  return stage_peaks({owned.job, plan, table, first, last}).earlier.requested().value();
}

/// Returns the same nodes, with memory that is not rounded up.
Machine exact_nodes() {
  Machine machine = nodes_of_four();
  machine.device.is_processor = true;
  return machine;
}

double per_parameter(Optimizer optimizer, Precision precision) {
  const ParameterBytes bytes = parameter_bytes(optimizer, precision);
  return bytes.weight + bytes.gradient + bytes.optimizer;
}

Plan plan_with(Optimizer optimizer, Precision precision) {
  Plan plan;
  plan.optimizer = optimizer;
  plan.precision = precision;
  return plan;
}

TEST_CASE("DeepSpeed sums bf16 gradients in separate fp32 buffers: 20 bytes per parameter with Adam") {
  const ParameterBytes bytes = parameter_bytes(Optimizer::adam, Precision::bf16, MixedPrecision::accumulated);
  CHECK(bytes.weight == 2);
  CHECK(bytes.gradient == 6);
  CHECK(bytes.optimizer == 12);
}

TEST_CASE("before the update, concatenated gradients of a rank's shard exist twice in addition") {
  const Model model = chain_of(4);
  Plan plan = plan_with(Optimizer::adam, Precision::fp16);
  plan.mesh.set(Axis::data, 4);
  plan.global_batch = 4;
  plan.zero_stage = 1;
  const auto in_update = [&](bool flat) {
    Assumptions assumptions;
    assumptions.flat_gradients = flat;
    const OwnedJob owned(model, nodes_of_four(), assumptions, 1000, std::nullopt, Precision::fp16);
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
    const LayerCostTable table(owned.job, plan, kinds);
    return stage_peaks({owned.job, plan, table, 0, 4}).in_update[MemoryItem::gradients].value();
  };
  // There are 40,000 gradients of 2 bytes. A rank has a shard of 10,000 gradients: 20,000 bytes in half precision and 40,000
  // in fp32. An update without concatenation needs no memory in addition to the gradients of backward.
  CHECK(in_update(true) == 80'000 + 20'000 + 40'000);
  CHECK(in_update(false) == 80'000);
  plan.zero_stage = 0;
  CHECK(in_update(true) == 80'000);
}

TEST_CASE("a stage that keeps sent tensors has its output once for each micro-batch in flight") {
  const Model model = chain_of(4);
  Plan plan = plan_with(Optimizer::adam, Precision::fp16);
  plan.mesh.set(Axis::pipeline, 2);
  plan.global_batch = 1024;
  plan.micro_batches = 2;
  const auto kept = [&](int first, int last, bool keeps) {
    Assumptions assumptions;
    assumptions.keeps_sent = keeps;
    const OwnedJob owned(model, nodes_of_four(), assumptions, 1000, std::nullopt, Precision::fp16);
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
    const LayerCostTable table(owned.job, plan, kinds);
    return stage_peaks({owned.job, plan, table, first, last}).earlier.allocated.value();
  };
  // The output has 512 samples, 100 features per sample and 2 bytes per feature. The last stage sends nothing.
  CHECK(kept(0, 2, true) - kept(0, 2, false) == 512 * 100 * 2);
  CHECK(kept(2, 4, true) == kept(2, 4, false));
}

TEST_CASE("the workspaces of cuBLAS follow from the compute capability") {
  // By PyTorch's CublasHandlePool.cpp, a workspace is 2 · 4096 KiB + 8 · 16 KiB below compute capability 9.0, and 32 MiB
  // from 9.0 on. Each of the two threads of a step has one.
  constexpr double small = 2 * 8519680, large = 2 * 33554432;
  const auto range = [](std::optional<double> capability, double bandwidth = 2e12) {
    Device device;
    device.memory_bandwidth = Bandwidth(bandwidth);
    device.compute_capability = capability;
    const LibraryWorkspace workspace = library_workspace(device);
    return std::pair(workspace.expected.value(), workspace.most.value());
  };
  for (const double capability : {7.0, 7.5, 8.0, 8.6, 8.9}) CHECK(range(capability) == std::pair(small, small));
  for (const double capability : {9.0, 10.0, 10.3, 12.0}) CHECK(range(capability) == std::pair(large, large));
  // An H100 on PCIe has the bandwidth of an A100, and a fast device could have a lower capability.
  CHECK(range(9.0, 2.0e12) == range(9.0, 3.35e12));
  CHECK(range(8.0, 3.35e12) == std::pair(small, small));
  CHECK(range(std::nullopt) == std::pair(small, large));
  Device processor;
  processor.is_processor = true;
  CHECK(library_workspace(processor).most.value() == 0);
}

TEST_CASE("layers of one kind keep the same tensors, regardless of which input is wide") {
  Assumptions assumptions;
  assumptions.mixed_precision = MixedPrecision::autocast;
  for (const std::string name : {"bert-base", "convnext_tiny", "densenet121", "dlrm", "gnmt", "gpt2", "inception_v3",
                                 "swin_t", "t5-large", "unet", "vit_b_16"}) {
    const OwnedJob owned(load_model(name), nodes_of_four(), assumptions, 1000, std::nullopt, Precision::fp16);
    Plan plan;
    plan.global_batch = 2;
    plan.precision = Precision::fp16;
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
    const LayerCostTable table(owned.job, plan, kinds);
    for (std::size_t i = 0; i < owned.model.layers.size(); ++i) {
      const int layer = static_cast<int>(i), other = kinds.representative[static_cast<std::size_t>(kinds.kind[i])];
      INFO(name << " " << owned.model.layers[i].name);
      const auto memory_of_layer = [&](int each) {
        return layer_memory(owned.job, {owned.facts, plan, assumptions, each, 0}, table.detail(each, false).shard);
      };
      const LayerMemory own = memory_of_layer(layer), same = memory_of_layer(other);
      CHECK(own.all_kept().value() == same.all_kept().value());
      CHECK(own.scratch_forward.value() == same.scratch_forward.value());
      CHECK(own.scratch_backward.value() == same.scratch_backward.value());
      const auto& reads = owned.model.layers[i].inputs;
      const auto& others = owned.model.layers[static_cast<std::size_t>(other)].inputs;
      REQUIRE(reads.size() == others.size());
      for (std::size_t input = 0; input < reads.size(); ++input) {
        const auto bytes = [&](int tensor) { return tensor_item_bytes(owned.facts, plan, assumptions, tensor); };
        CHECK(bytes(reads[input]) == bytes(others[input]));
      }
    }
  }
}

TEST_CASE("the dropout of attention keeps factors of 4 bytes on a processor, as a dropout layer does") {
  // One head of 4 channels over 3 tokens has 9 scores. The softmax, its dropout and the mask are kept, but not the output.
  const Model model = parse_model(R"(format: 1
model: attentive
input: {channels: 12, tokens: 3}
layers:
  - attention: {heads: 1, dropout: 0.1}
)",
                                  "attentive.yaml");
  const auto own = [&](bool is_processor) {
    Machine machine = nodes_of_four();
    machine.device.is_processor = is_processor;
    const OwnedJob owned(model, machine, Assumptions{}, 1000);
    Plan plan;
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
    const LayerCostTable table(owned.job, plan, kinds);
    return table.memory(0).kept[0].value();
  };
  CHECK(own(false) == 9 * (4 + 4 + 1));
  CHECK(own(true) == 9 * (4 + 4 + 4));
}

TEST_CASE("a tensor that crosses a cut is kept by the reading stage, not by the sending stage") {
  // Each layer keeps its input, 100 elements of 4 bytes of the one sample of a micro-batch. The first stage keeps the batch,
  // and the second stage keeps the received tensor. The first stage does not keep its output.
  const OwnedJob owned(chain_of(4), nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 2);
  plan.global_batch = 4;
  plan.micro_batches = 4;
  CHECK(kept_by(owned, plan, 0, 1) == 400);
  CHECK(kept_by(owned, plan, 1, 2) == 400);
  CHECK(kept_by(owned, plan, 1, 4) == 1200);
  CHECK(kept_by(owned, plan, 0, 4) == 1600);
}

TEST_CASE("a layer keeps its own output even if another stage reads it") {
  const Model model = parse_model(R"(format: 1
model: chain
input: {features: 100}
layers:
  - fully_connected: {features: 100, bias: no}
  - activation: relu
  - fully_connected: {features: 100, bias: no}
)",
                                  "chain.yaml");
  const OwnedJob owned(model, nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 2);
  // The stage keeps the batch and the activation's output. The second stage has a copy of the activation's output.
  CHECK(kept_by(owned, plan, 0, 2) == 800);
  CHECK(kept_by(owned, plan, 2, 3) == 400);
}

TEST_CASE("a stage has one copy of another stage's weights, for any number of layers that read them") {
  // The first layer owns a table of 10 × 8 weights, which the third and fifth layers read. The fourth layer has 64 weights.
  const Model model = parse_model(R"(format: 1
model: shared
input: {tokens: 4}
layers:
  - embedding: {vocabulary: 10, features: 8}
    name: words
  - input: {tokens: 4}
  - embedding: {vocabulary: 10, features: 8, tied: words}
  - fully_connected: {features: 8, bias: no}
  - fully_connected: {features: 10, bias: no, tied: words}
)",
                                  "shared.yaml");
  const OwnedJob owned(model, exact_nodes(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 2);
  CHECK(memory_of(owned, plan, 0, 0, 5).weights.value() == 4 * (80 + 64));
  CHECK(memory_of(owned, plan, 1, 2, 5).weights.value() == 4 * (80 + 64));
  CHECK(memory_of(owned, plan, 0, 0, 3).weights.value() == 4 * 80);
  CHECK(memory_of(owned, plan, 1, 3, 5).weights.value() == 4 * (80 + 64));
}

TEST_CASE("fp32 keeps four bytes for each weight, gradient and slot") {
  CHECK(per_parameter(Optimizer::sgd, Precision::fp32) == 4 + 4);
  CHECK(per_parameter(Optimizer::momentum, Precision::fp32) == 4 + 4 + 4);
  CHECK(per_parameter(Optimizer::adam, Precision::fp32) == 4 + 4 + 8);
  CHECK(per_parameter(Optimizer::adam, Precision::tf32) == 4 + 4 + 8);
}

TEST_CASE("mixed precision keeps two bytes for weight and gradient, and a master copy in addition to optimizer state") {
  // With Adam, the sum is 16: 2 + 2 + 4 + 4 + 4 [Rajbhandari et al., SC'20, section 3.1].
  CHECK(per_parameter(Optimizer::adam, Precision::fp16) == 16);
  CHECK(per_parameter(Optimizer::adam, Precision::bf16) == 16);
  CHECK(per_parameter(Optimizer::momentum, Precision::fp16) == 12);
  CHECK(per_parameter(Optimizer::sgd, Precision::fp16) == 8);
  const ParameterBytes adam = parameter_bytes(Optimizer::adam, Precision::fp16);
  CHECK(adam.weight == 2);
  CHECK(adam.gradient == 2);
  CHECK(adam.optimizer == 12);
}

TEST_CASE("ZeRO divides the optimizer's state, then gradients, then weights among the replicas") {
  // There are eight replicas. Each of 1000 parameters has 2 bytes of weight, 2 bytes of gradient and 12 bytes of optimizer
  // state.
  Plan plan = plan_with(Optimizer::adam, Precision::fp16);
  plan.mesh.set(Axis::data, 8);
  const auto total = [&](int stage) {
    plan.zero_stage = stage;
    return parameter_memory(1000, plan).total().value();
  };
  CHECK(total(0) == 16000);
  CHECK(total(1) == 4000 + 12000 / 8);
  CHECK(total(2) == 2000 + 14000 / 8);
  CHECK(total(3) == 16000 / 8);
  // There are two groups of four ranks, with copies of the same shards.
  plan.shard_group = 4;
  CHECK(total(1) == 4000 + 12000 / 4);
  CHECK(total(3) == 16000 / 4);
  CHECK(total(0) == 16000);
  // The secondary shards are in two groups of four ranks.
  plan.shard_group = 0;
  plan.secondary_shards = 4;
  CHECK(total(2) == 2000 + 14000 / 8);
  CHECK(total(3) == 16000 / 8 + 2000 / 4);
}

TEST_CASE("tiles hold all parameters, as replicas do, but slices of filters or channels, and stages, hold a part") {
  Plan plan = plan_with(Optimizer::adam, Precision::fp16);
  plan.zero_stage = 3;
  plan.mesh.set(Axis::data, 2);
  plan.mesh.set_tiles({2, 2, 1});
  CHECK(parameter_memory(1000, plan).total().value() == 16000 / 8);
  plan.mesh.set(Axis::filter, 5);
  plan.mesh.set(Axis::channel, 3);
  plan.mesh.set(Axis::tensor, 7);
  plan.mesh.set(Axis::pipeline, 11);
  CHECK(parameter_memory(1000, plan).total().value() == 16000 / 8);
}

TEST_CASE("a rank holds the parameters of its own slice and of its own stage") {
  const OwnedJob owned(chain_of(4), exact_nodes(), Assumptions{}, 1000);
  Plan plan = plan_with(Optimizer::momentum, Precision::fp32);
  // Each layer has 10,000 weights. Each weight has 4 bytes, and so do its gradient and its momentum.
  CHECK(whole_memory(owned, plan).weights.value() == 160000);
  CHECK(whole_memory(owned, plan).gradients.value() == 160000);
  CHECK(whole_memory(owned, plan).optimizer.value() == 160000);
  plan.mesh.set(Axis::filter, 4);
  CHECK(whole_memory(owned, plan).weights.value() == Approx(40000));
  plan.mesh.set(Axis::filter, 1);
  plan.mesh.set(Axis::pipeline, 4);
  CHECK(memory_of(owned, plan, 1, 1, 2).weights.value() == Approx(40000));
}

TEST_CASE("the first of four stages holds four micro-batches under 1F1B, and all micro-batches under GPipe") {
  const OwnedJob owned(chain_of(4), exact_nodes(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 4);
  plan.global_batch = 24;
  plan.micro_batches = 8;
  const auto activations = [&](Schedule schedule, std::int64_t micro_batches, int stage) {
    plan.schedule = schedule;
    plan.micro_batches = micro_batches;
    plan.global_batch = 3 * micro_batches;
    return memory_of(owned, plan, stage, stage, stage + 1).activations.value();
  };
  // The backward of one layer reads activations of 3 samples · 100 elements · 4 B.
  const double kept = 1200;
  CHECK(activations(Schedule::gpipe, 8, 1) - activations(Schedule::gpipe, 1, 1) == Approx(7 * kept));
  // With 1F1B, the first stage holds four micro-batches, the second three, and the third two, for any total number.
  for (const int stage : {0, 1, 2}) {
    INFO("stage " << stage);
    CHECK(activations(Schedule::one_forward_one_backward, 8, stage) ==
          Approx(activations(Schedule::gpipe, 4 - stage, stage)));
    CHECK(activations(Schedule::one_forward_one_backward, 100, stage) ==
          Approx(activations(Schedule::gpipe, 4 - stage, stage)));
  }
  // If there are fewer micro-batches than stages, the first stage holds all of them.
  CHECK(activations(Schedule::one_forward_one_backward, 2, 0) == Approx(activations(Schedule::gpipe, 2, 0)));
}

TEST_CASE("backward of the last layer needs all kept tensors, its input gradient and its output gradient") {
  const OwnedJob owned(chain_of(4), exact_nodes(), Assumptions{}, 1000);
  Plan plan;
  plan.global_batch = 2400;
  // Backward of the third layer needs the inputs of the first three layers, of which the first is the batch, and two
  // gradients. Each of these five tensors has 2400 samples · 100 elements · 4 B. The gradients of the last two matrices
  // exist at this time.
  CHECK(whole_memory(owned, plan).activations.value() == Approx(4 * 960000));
  CHECK(whole_memory(owned, plan).input.value() == Approx(960000));
  CHECK(whole_memory(owned, plan).gradients.value() == Approx(80000));
  plan.precision = Precision::fp16;
  CHECK(whole_memory(owned, plan).activations.value() == Approx(4 * 480000));
  // With 24 samples, the backward of the first layer needs most memory: the gradients of all
  // weights, and the gradient of its output.
  plan.precision = Precision::fp32;
  plan.global_batch = 24;
  CHECK(whole_memory(owned, plan).activations.value() == Approx(9600));
  CHECK(whole_memory(owned, plan).gradients.value() == Approx(160000));
}

TEST_CASE("without a pipeline one micro-batch is held at a time") {
  const OwnedJob owned(chain_of(4), exact_nodes(), Assumptions{}, 1000);
  Plan plan;
  plan.global_batch = 2400;
  const double all_at_once = whole_memory(owned, plan).activations.value();
  plan.micro_batches = 8;
  CHECK(whole_memory(owned, plan).activations.value() == Approx(all_at_once / 8));
}

/// Returns three blocks of two layers and an activation each. A block has 50 elements of input, and
/// 200 elements between its layers.
Model three_blocks() {
  return parse_model(R"(format: 1
model: blocks
input: {features: 50}
blocks:
  wide:
    checkpoint: yes
    layers:
      - fully_connected: {features: 200, bias: no}
      - activation: relu
      - fully_connected: {features: 50, bias: no}
layers:
  - block: wide
  - block: wide
  - block: wide
)",
                     "blocks.yaml");
}

TEST_CASE("full recomputation keeps the inputs of blocks, and one block while it is recomputed") {
  const OwnedJob owned(three_blocks(), exact_nodes(), Assumptions{}, 1000);
  Plan plan;
  plan.global_batch = 1000;
  plan.recompute = Recompute::full;
  // The input of each block has 1000 samples, 50 elements per sample and 4 B per element. The first block's input is the
  // batch.
  const double input = 50 * 4000;
  CHECK(kept_by(owned, plan, 0, 9) == Approx(3 * input));
  // Backward of a block needs the block's input, the recomputed tensors (four times as much after the first layer), and
  // gradients. Two more blocks add two inputs if blocks are recomputed, and two whole blocks if everything is kept.
  const double one = memory_of(owned, plan, 0, 6, 9).activations.value();
  const double three = whole_memory(owned, plan).activations.value();
  CHECK(three == Approx(one + 1 * input));
  plan.recompute = Recompute::none;
  CHECK(kept_by(owned, plan, 0, 9) == Approx(3 * (input + 4 * input)));
  CHECK(whole_memory(owned, plan).activations.value() > three);
}

TEST_CASE("the first blocks are recomputed, and the others keep what backward needs") {
  const OwnedJob owned(three_blocks(), exact_nodes(), Assumptions{}, 1000);
  Plan plan;
  plan.global_batch = 1000;
  plan.recompute = Recompute::full;
  // Each block keeps an input of 1000 samples, 50 elements per sample and 4 B per element. A block that is not recomputed
  // keeps four times as many bytes in addition.
  const double input = 50 * 4000;
  for (int blocks = 1; blocks <= 3; ++blocks) {
    plan.recompute_blocks = blocks;
    CHECK(kept_by(owned, plan, 0, 9) == Approx(3 * input + (3 - blocks) * 4 * input));
  }
  // The number applies to each model chunk of a stage, so a stage of three blocks in three chunks recomputes all blocks.
  plan.recompute_blocks = 1;
  plan.virtual_stages = 3;
  CHECK(kept_by(owned, plan, 0, 9) == Approx(3 * input));
}

TEST_CASE("a transformer layer with sequence parallelism and selective recomputation keeps 34sbh/t bytes") {
  // By [Kort22, Table 2], a layer with dropout keeps sbh(34 + 5as/h)/t bytes, here without the term 5as/h of attention. The
  // formula does not include the statistics of two norms, which are two numbers of 4 bytes per token.
  const double s = 512, h = 256, t = 4;
  const auto kept = [&](int layers, Recompute recompute) {
    const Model model = parse_model(fmt::format("format: 1\nmodel: run\nfamily: gpt\nparameters: {{layers: {}, hidden: 256, "
                                                "heads: 8, vocabulary: 1000, tokens: 512, dropout: 0.1}}\n",
                                                layers),
                                    "run.yaml");
    const OwnedJob owned(model, nodes_of_four(), {}, 1000, std::nullopt, Precision::fp16, Optimizer::adam);
    Plan plan = plan_with(Optimizer::adam, Precision::fp16);
    plan.mesh.set(Axis::tensor, static_cast<int>(t));
    plan.sequence_parallel = true;
    plan.recompute = recompute;
    return kept_by(owned, plan, 0, static_cast<int>(owned.model.layers.size()));
  };
  const double statistics = 2 * 2 * 4 * s / t, attention = 5 * 8 * s / h;
  CHECK(kept(3, Recompute::selective) - kept(2, Recompute::selective) == Approx(34 * s * h / t + statistics));
  CHECK(kept(3, Recompute::none) - kept(2, Recompute::none) == Approx((34 + attention) * s * h / t + statistics));
}

TEST_CASE("with full recomputation each micro-batch in flight holds only the inputs of the blocks") {
  const OwnedJob owned(three_blocks(), exact_nodes(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 3);
  plan.schedule = Schedule::gpipe;
  plan.recompute = Recompute::full;
  const auto second_stage = [&](std::int64_t micro_batches) {
    plan.micro_batches = micro_batches;
    plan.global_batch = 10 * micro_batches;
    return memory_of(owned, plan, 1, 3, 6).activations.value();
  };
  // The second block keeps an input of 10 samples, 50 elements per sample and 4 B per element.
  CHECK(second_stage(9) - second_stage(4) == Approx(5 * 50 * 40));
}

TEST_CASE("if memory reuse γ is given, memory is 2γδ(B(|x|+|y|)+|w|) for any optimizer and schedule") {
  Assumptions assumptions;
  assumptions.memory_reuse = 0.5;
  const OwnedJob owned(parse_model("format: 1\nmodel: m\ninput: {features: 3}\nlayers:\n  - fully_connected: {features: 5, "
                                   "bias: no}\n",
                                   "m.yaml"),
                       nodes_of_four(), assumptions, 1000);
  Plan plan = plan_with(Optimizer::adam, Precision::fp16);
  plan.global_batch = 7;
  // Memory is 2 · γ · 2 B · (7 samples · (3 + 5 elements) + 15 weights), with γ = 0.5.
  const MemoryBreakdown memory = whole_memory(owned, plan);
  CHECK(memory.total().value() == Approx(142.0));
  CHECK(memory.weights.value() == Approx(15.0));
  CHECK(memory.gradients.value() == Approx(15.0));
  CHECK(memory.activations.value() == Approx(112.0));
  CHECK(memory.optimizer.value() == 0);
  plan.recompute = Recompute::full;
  plan.micro_batches = 7;
  CHECK(whole_memory(owned, plan).total().value() == Approx(142.0));
}

TEST_CASE("an engine has communicators of all ranks, a replica, neighboring stages, and stages that share weights") {
  constexpr double mib = 1024.0 * 1024;
  Plan plan;
  plan.mesh.set(Axis::data, 4);
  plan.mesh.set(Axis::tensor, 2);
  plan.mesh.set(Axis::pipeline, 4);
  const Device device = nodes_of_four().device;
  const auto bytes = [&](EngineGroups engine) { return communication_buffers(plan, device, engine).expected.value() / mib; };
  // The communicators are: data and pipeline with 4 ranks each, tensor with 2 ranks, all 32 ranks, a replica with 8 ranks,
  // and two pairs of stages.
  CHECK(bytes(EngineGroups::none) == 2 * 688 + 544);
  CHECK(bytes(EngineGroups::untied) == 2 * 688 + 544 + 2 * 688 + 544);
  CHECK(bytes(EngineGroups::tied) == 2 * 688 + 544 + 2 * 688 + 2 * 544);
  CHECK((communication_buffers(plan, device, EngineGroups::tied).most - communication_buffers(plan, device).most).value() ==
        Approx(4 * 1.6e9));
  // On one node without replicas, all ranks are one replica, which also has a communicator.
  plan.mesh.set(Axis::data, 1);
  plan.mesh.set(Axis::pipeline, 1);
  CHECK(bytes(EngineGroups::tied) == 3 * 544);
  plan.mesh.set(Axis::tensor, 1);
  CHECK(bytes(EngineGroups::tied) == 0);
}

TEST_CASE("a context with all kernels is as large as measured, else as on a Titan V") {
  constexpr double mib = 1024.0 * 1024;
  Device device = nodes_of_four().device;
  CHECK(context_bytes(device, true).expected.value() == 1008 * mib);
  CHECK(context_bytes(device).expected.value() == 500 * mib);
  device.whole_context = Bytes(1271 * mib);
  CHECK(context_bytes(device, true).expected.value() == 1271 * mib);
  CHECK(context_bytes(device, true).most.value() == (1271 + 50) * mib);  // with memory that a driver keeps
  CHECK(context_bytes(device).expected.value() == 500 * mib);
  device.is_processor = true;
  CHECK(context_bytes(device, true).expected.value() == 0);
}

}  // namespace
