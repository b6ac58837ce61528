#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/inputs/base_weights.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

constexpr double hidden = 64, feed_forward = 128, tokens = 32 * 4, layers = 3, half = 2;

/// A machine on which sizes of requests are not rounded up.
Machine unrounded() {
  Machine machine = nodes_of_four();
  machine.device.is_processor = true;
  return machine;
}

std::string gated_llama(const std::string& changes = "") {
  return "llama@layers=3@hidden=64@heads=4@kv_heads=4@feed_forward=128@vocabulary=100@tokens=32" + changes;
}

Plan kept_samples(Precision precision = Precision::bf16) {
  Plan plan;
  plan.global_batch = 4;
  plan.precision = precision;
  plan.optimizer = Optimizer::adam;
  return plan;
}

/// Returns the bytes of activations that a micro-batch of four samples keeps.
double kept(const std::string& model, const Plan& plan, const Assumptions& assumptions) {
  const OwnedJob owned(load_model(model), unrounded(), assumptions, 1000, std::nullopt, plan.precision);
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {}, assumptions.selective);
  const LayerCostTable table(owned.job, plan, kinds);
  return kept_by_micro_batch(
             {owned.job, plan, table, 0, static_cast<int>(owned.model.layers.size())})[MemoryItem::activations]
      .value();
}

/// Returns assumptions with fused gated activations.
Assumptions fused_kernels() {
  Assumptions assumptions;
  assumptions.fusing = Fusing::residuals;
  return assumptions;
}

Assumptions by_operators() {
  Assumptions assumptions;
  assumptions.composites = CompositeKernels::operators;
  return assumptions;
}

TEST_CASE("a fused gated activation keeps its inputs, and eager kernels also keep the activation") {
  // Eager root-mean-square norms keep fp32 inputs (2 bytes more) and normalized inputs in half precision: two norms in each
  // of three layers, and one before the head.
  const double norms = (2 * layers + 1) * tokens * hidden * 2 * half;
  const double activations = layers * tokens * feed_forward * half;
  CHECK(kept(gated_llama(), kept_samples(), by_operators()) - kept(gated_llama(), kept_samples(), fused_kernels()) ==
        Approx(norms + activations));
}

TEST_CASE("frozen norms keep no normalized input") {
  const std::string adapted = gated_llama("@lora=4@lora_layers=projection");
  const double norms = (2 * layers + 1) * tokens * hidden * half;
  const double activations = layers * tokens * feed_forward * half;
  // Nothing before the first adapter has a backward: the first norm and its copies.
  const double difference = kept(adapted, kept_samples(), by_operators()) - kept(adapted, kept_samples(), fused_kernels());
  CHECK(difference == Approx(norms + activations - tokens * hidden * half));
}

TEST_CASE("compiled code keeps what matrix products read in backward, and no other activation") {
  // A block of torch.compile (PyTorch 2.15) saves its input, both normalized inputs, queries, keys, values, the results of
  // attention, its projection, gate and up, and the product of the last two, as fused kernels do.
  Assumptions compiled = fused_kernels();
  compiled.recomputes_elementwise = true;
  CHECK(kept(gated_llama(), kept_samples(), compiled) == Approx(kept(gated_llama(), kept_samples(), fused_kernels())));
  // The activation between gate and up is read by an elementwise kernel alone, which recomputes it.
  compiled.fusing = {};
  CHECK(kept(gated_llama(), kept_samples(), {}) - kept(gated_llama(), kept_samples(), compiled) ==
        Approx(layers * tokens * feed_forward * half));
}

TEST_CASE("attention may keep keys and values for each head of queries, or the joined result of one matrix") {
  Assumptions repeated, joined;
  repeated.attention_inputs = AttentionInputs::repeated;
  joined.attention_inputs = AttentionInputs::joined;
  const std::string grouped = "llama@layers=3@hidden=64@heads=4@kv_heads=1@feed_forward=128@vocabulary=100@tokens=32";
  // Three heads of 16 channels more, of keys and of values.
  CHECK(kept(grouped, kept_samples(), repeated) - kept(grouped, kept_samples(), {}) ==
        Approx(layers * tokens * 2 * 3 * 16 * half));
  CHECK(kept(gated_llama(), kept_samples(), repeated) == kept(gated_llama(), kept_samples(), {}));
  // Queries and keys before their rotation stay in addition to values.
  CHECK(kept(gated_llama(), kept_samples(), joined) - kept(gated_llama(), kept_samples(), {}) ==
        Approx(layers * tokens * 2 * hidden * half));
}

TEST_CASE("gated activations keep their inputs in fp8 if the software stores them so") {
  Assumptions stored;
  stored.fp8_activation_inputs = true;
  const Plan plan = kept_samples(Precision::fp8);
  // Gate and up take one byte an element in place of two.
  CHECK(kept(gated_llama(), plan, {}) - kept(gated_llama(), plan, stored) == Approx(layers * tokens * feed_forward * 2));
}

TEST_CASE("experts keep no outputs if the router's weights multiply their activations") {
  const std::string mixture = gated_llama("@experts=4@active=2");
  Assumptions inside = fused_kernels();
  inside.weighs_activations = true;
  // Two copies of each token in each layer, in half precision.
  CHECK(kept(mixture, kept_samples(), fused_kernels()) - kept(mixture, kept_samples(), inside) ==
        Approx(layers * tokens * 2 * hidden * half));
  CHECK(kept(gated_llama(), kept_samples(), fused_kernels()) == Approx(kept(gated_llama(), kept_samples(), inside)));
}

TEST_CASE("if outputs of experts are weighted in fp32, they are kept in fp32") {
  const std::string mixture = gated_llama("@experts=4@active=2");
  Assumptions wide = fused_kernels();
  wide.wide_combine = true;
  CHECK(kept(mixture, kept_samples(), wide) - kept(mixture, kept_samples(), fused_kernels()) ==
        Approx(layers * tokens * 2 * hidden * (4 - half)));
  CHECK(kept(gated_llama(), kept_samples(), wide) == Approx(kept(gated_llama(), kept_samples(), fused_kernels())));
}

TEST_CASE("operators of cross entropy on parts of the vocabulary hold one fp32 tensor more") {
  Plan plan = kept_samples();
  plan.mesh.set(Axis::tensor, 2);
  const auto scratch = [&](const Assumptions& assumptions) {
    const OwnedJob owned(load_model(gated_llama()), unrounded(), assumptions, 1000, std::nullopt, plan.precision);
    const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {}, assumptions.selective);
    const LayerCostTable table(owned.job, plan, kinds);
    const LayerMemory& loss = table.memory(static_cast<int>(owned.model.layers.size()) - 1);
    return std::pair(loss.scratch_forward.value(), loss.scratch_backward.value());
  };
  Assumptions gathered, parallel, fused;
  gathered.keeps_gathered = true;
  parallel.loss_parallel = true;
  fused.cross_entropy = CrossEntropy::fused;
  constexpr double wide = 4, vocabulary = 100;
  CHECK(scratch(gathered) == scratch({}));
  CHECK(scratch(parallel).first - scratch({}).first == Approx(tokens * vocabulary / 2 * wide));
  CHECK(scratch(parallel).second - scratch({}).second == Approx(tokens * vocabulary / 2 * wide));
  const auto without = scratch(fused);
  fused.loss_parallel = true;
  CHECK(scratch(fused) == without);
  plan.mesh.set(Axis::tensor, 1);
  CHECK(scratch(parallel) == scratch({}));
}

TEST_CASE("selective recomputation of products saves products and attention, and not their inputs") {
  Assumptions products;
  products.selective = SelectiveRecompute::products;
  Plan plan = kept_samples();
  plan.recompute = Recompute::selective;
  Plan full = plan;
  full.recompute = Recompute::full;
  // The products of a block are queries, keys, values, projection, gate, up and down, of which the first, third, fifth and
  // seventh are saved. Attention saves its output, and one number of 4 bytes for each head.
  const double saved = 2 * hidden + feed_forward + hidden + hidden;
  const double statistics = 4 * 4;
  CHECK(kept(gated_llama(), plan, products) - kept(gated_llama(), full, products) ==
        Approx(layers * tokens * (saved * half + statistics)));
}

TEST_CASE("with a head and a loss in chunks, logits do not exist as a whole") {
  const std::string wide = "llama@layers=1@hidden=64@heads=4@kv_heads=4@feed_forward=128@vocabulary=6400@tokens=32";
  Assumptions linear, fused;
  linear.cross_entropy = CrossEntropy::linear;
  fused.cross_entropy = CrossEntropy::fused;
  // The logits of a chunk are as large as the hidden states: 64 of 6,400.
  CHECK(kept(wide, kept_samples(), fused) - kept(wide, kept_samples(), linear) == Approx(tokens * (6400 - 64) * half));
}

TEST_CASE("frozen weights of blocks have their own format, and other frozen weights have that of the training") {
  const Model model = load_model(gated_llama("@lora=4"));
  const ModelFacts facts = facts_of(model);
  const Plan plan = kept_samples();
  const double frozen = facts.parameters - facts.trained_parameters;
  // In each layer: qkv 64 × 192, projection 64 × 64, gate and up 64 × 128, down 128 × 64.
  CHECK(facts.base_parameters == layers * (64 * 192 + 64 * 64 + 3 * 64 * 128));
  for (const auto& [format, bytes] :
       {std::pair(BaseWeights::half, 2.0), std::pair(BaseWeights::nf4, 0.5 + 4.0 / 64),
        std::pair(BaseWeights::nf4_double, 0.5 + 1.0 / 64 + 4.0 / 16384), std::pair(BaseWeights::int8, 1.0),
        std::pair(BaseWeights::fp8, 1.0), std::pair(BaseWeights::mxfp4, 0.5 + 1.0 / 32)}) {
    CHECK(base_item_bytes(format) == bytes);
    Assumptions assumptions;
    assumptions.base = format;
    CHECK(parameter_bytes(facts, plan, assumptions).weight * facts.parameters ==
          Approx(2 * facts.trained_parameters + bytes * facts.base_parameters + 2 * (frozen - facts.base_parameters)));
    // ZeRO-3 gathers frozen weights in their format, and other stages do not gather them.
    Plan sharded = plan;
    sharded.zero_stage = 3;
    const ExchangedBytes each = exchanged_bytes(sharded, assumptions, facts);
    const GradientGroup group{.parameters = 100, .frozen = frozen};
    CHECK(gathered_weights(sharded, each, group).value() ==
          Approx(2 * 100 + bytes * facts.base_parameters + 2 * (frozen - facts.base_parameters)));
    sharded.zero_stage = 2;
    CHECK(gathered_weights(sharded, each, group).value() == 2 * 100);
    // In fp32, other weights have 4 bytes, and the base keeps its format.
    Plan single = plan;
    single.precision = Precision::fp32;
    const double in_fp32 = bytes * facts.base_parameters + 4 * (frozen - facts.base_parameters);
    CHECK(parameter_bytes(facts, single, assumptions).weight * facts.parameters ==
          Approx(4 * facts.trained_parameters + in_fp32));
    single.zero_stage = 3;
    CHECK(gathered_weights(single, exchanged_bytes(single, assumptions, facts), group).value() == Approx(4 * 100 + in_fp32));
  }
}

TEST_CASE("masters and moments have the precisions that the software states") {
  const ModelFacts facts = facts_of(load_model(gated_llama()));
  Assumptions assumptions;
  const auto state = [&](const Plan& plan) { return parameter_bytes(facts, plan, assumptions).optimizer; };
  Plan plan = kept_samples();
  CHECK(state(plan) == 4 + 8);
  assumptions.master_weights = StatePrecision::half;
  assumptions.moments = StatePrecision::half;
  CHECK(state(plan) == 2 + 4);
  assumptions.moments = StatePrecision::fp8;
  CHECK(state(plan) == 2 + 2);
  plan.optimizer = Optimizer::adam8bit;
  CHECK(state(plan) == Approx(2 + 2 * (1 + 4.0 / 2048)));
  assumptions = {};
  assumptions.mixed_precision = MixedPrecision::pure;
  plan.optimizer = Optimizer::adam;
  const ParameterBytes pure = parameter_bytes(facts, plan, assumptions);
  CHECK(pure.weight + pure.gradient + pure.optimizer == 8);
  // Muon has one moment, and Adam's second one for what is no matrix of a block.
  assumptions.mixed_precision = MixedPrecision::half_gradients;
  plan.optimizer = Optimizer::muon;
  CHECK(facts.muon_share > 0);
  CHECK(state(plan) == Approx(4 + 4 + 4 * facts.muon_share));
  assumptions.moments = StatePrecision::half;
  CHECK(state(plan) == Approx(4 + 2 + 2 * facts.muon_share));
  assumptions = {};
  assumptions.mixed_precision = MixedPrecision::pure;
  CHECK(state(plan) == Approx(2 + 2 * facts.muon_share));
}

TEST_CASE("paged state is not needed on the device") {
  Plan plan = kept_samples();
  plan.optimizer = Optimizer::paged_adamw;
  CHECK(parameter_memory(1e6, plan).optimizer == Bytes{});
  plan.optimizer = Optimizer::adamw;
  CHECK(parameter_memory(1e6, plan).optimizer == Bytes(12e6));
}

/// Returns the bytes of temporaries of attention's backward for one sample in bf16.
double backward_of_attention(const std::string& features, const std::string& attention) {
  const OwnedJob owned(
      parse_model("format: 1\nmodel: m\ninput: {channels: 8, tokens: 32}\nlayers:\n" + features + attention, "m.yaml"),
      nodes_of_four(), {}, 1000, std::nullopt, Precision::bf16);
  Plan plan;
  plan.precision = Precision::bf16;
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {}, {});
  const LayerCostTable table(owned.job, plan, kinds);
  return table.memory(static_cast<int>(owned.model.layers.size()) - 1).scratch_backward.value();
}

TEST_CASE("backward of attention sums gradients of queries, and those of keys and values of shared heads") {
  // Four heads of 12 for queries and keys, and of 8 for values: the sums have the size of the queries.
  const std::string apart =
      "  - fully_connected: 48\n    name: queries\n  - fully_connected: 80\n    name: rest\n"
      "    from: input\n";
  CHECK(backward_of_attention(apart, "  - attention: {heads: 4, value_size: 8, fused: true}\n    from: [queries, rest]\n") ==
        32 * 48 * 4);
  // Two heads of keys and values for four heads of queries: expanded gradients of both.
  CHECK(backward_of_attention("  - fully_connected: 64\n", "  - attention: {heads: 4, kv_heads: 2, fused: true}\n") ==
        32 * 32 * (4 + 2 * 2));
}

/// Returns the kernels of forward of each layer of a Llama whose MLP has so many tiles.
std::vector<double> kernels_with_tiles(std::optional<double> tiles) {
  Assumptions assumptions;
  assumptions.mlp_tiles = tiles;
  const OwnedJob owned(load_model(gated_llama()), nodes_of_four(), assumptions, 1000, std::nullopt, Precision::bf16);
  const Plan plan = kept_samples();
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {}, {});
  const LayerCostTable table(owned.job, plan, kinds);
  std::vector<double> kernels;
  for (int i = 0; i < static_cast<int>(owned.model.layers.size()); ++i)
    kernels.push_back(table.at(i)[LayerCount::forward_kernels]);
  return kernels;
}

TEST_CASE("each tile of an MLP launches its kernels") {
  const std::vector<double> whole = kernels_with_tiles(std::nullopt), tiled = kernels_with_tiles(8);
  double of_tiles = 0, of_all = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (tiled[i] == whole[i]) continue;
    of_tiles += tiled[i];
    of_all += whole[i];
  }
  CHECK(of_all > 0);
  CHECK(of_tiles == Approx(8 * of_all));
}

}  // namespace
