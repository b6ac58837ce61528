#include "estimator/facts/recompute_modules.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "estimator/explain/throughput.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// Returns the names of the layers of the block `block` that belong to a module, without the block's name.
std::vector<std::string> layers_of(const Model& model, RecomputeModule module, const std::string& block) {
  const ModelFacts facts = facts_of(model);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string& name = model.layers[i].name;
    if (facts.modules[i].contains(module) && name.starts_with(block + ".")) names.push_back(name.substr(block.size() + 1));
  }
  return names;
}

/// Returns two layers of multi-head latent attention. The first has an MLP. The second has 4
/// experts, 2 per token, and a shared expert.
Model small_mixture() {
  return load_model(
      "deepseek@layers=2@dense_layers=1@hidden=64@heads=4@query_rank=24@kv_rank=16@key_size=16@rotary_size=8@value_size=16"
      "@dense_feed_forward=96@feed_forward=32@experts=4@active=2@shared=1@vocabulary=100@tokens=32");
}

Model small_llama() {
  return load_model("llama@layers=3@hidden=64@heads=4@kv_heads=4@feed_forward=128@vocabulary=100@tokens=32");
}

Plan again(RecomputeModules modules) {
  Plan plan;
  plan.global_batch = 4;
  plan.precision = Precision::bf16;
  plan.recompute = Recompute::selective;
  plan.recompute_modules = modules;
  return plan;
}

struct OnNodes : OwnedJob {
  explicit OnNodes(Model a_model) : OwnedJob(std::move(a_model), exact(), as_megatron(), 1000) {}
  /// Returns assumptions with fused gated activations.
  static Assumptions as_megatron() {
    Assumptions assumptions;
    assumptions.fusing = Fusing::residuals;
    return assumptions;
  }
  /// Returns a machine on which sizes of requests are not rounded up.
  static Machine exact() {
    Machine machine = nodes_of_four();
    machine.device.is_processor = true;
    return machine;
  }
};

double kept_by(const OwnedJob& owned, const Plan& plan) {
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
  const LayerCostTable table(owned.job, plan, kinds);
  const auto count = static_cast<int>(owned.model.layers.size());
  return kept_by_micro_batch({owned.job, plan, table, 0, count}).requested().value();
}

TEST_CASE("sets of modules are read in any order and written in one") {
  CHECK(to_string(*parse_recompute_modules("moe_act+core_attn")) == "core_attn+moe_act");
  CHECK(to_string(*parse_recompute_modules("mlp+mlp"), " and ") == "mlp");
  for (const std::string_view text : {"", "+", "mlp+", "+mlp", "mlp,moe", "mlp moe", "MLP"})
    CHECK_FALSE(parse_recompute_modules(text));
  for (int number = 0; number <= RecomputeModules::last_number; ++number) {
    const RecomputeModules modules = RecomputeModules::numbered(number);
    CHECK(modules.number() == number);
    CHECK(parse_recompute_modules(to_string(modules)) == modules);
  }
  CHECK(RecomputeModules::numbered(0) == RecomputeModules{RecomputeModule::core_attn});
}

TEST_CASE("a long block is searched branch by branch, and branches that never join are no modules") {
  const auto model = [](const std::string& layers) {
    return parse_model(
        "format: 1\nmodel: m\ninput: {tokens: 4}\nblocks:\n  all:\n    checkpoint: yes\n    layers:\n"
        "      - fully_connected: 12\n      - attention: 1\n        name: stem\n" +
            layers + "layers:\n  - embedding: {vocabulary: 9, features: 4}\n  - block: all\n",
        "m.yaml");
  };
  // A search of the whole block for each sum took a minute.
  const std::string part = "- norm: rms\n                - fully_connected: 4\n                - activation: relu\n";
  const Model chain =
      model("      - repeat:\n          times: 9000\n          layers:\n            - residual:\n                " + part);
  const ModelFacts facts = facts_of(chain);
  const auto count = [&facts](RecomputeModule module) {
    return std::count_if(facts.modules.begin(), facts.modules.end(),
                         [module](RecomputeModules own) { return own.contains(module); });
  };
  CHECK(count(RecomputeModule::mlp) == 2 * 9000);
  CHECK(count(RecomputeModule::layernorm) == 9000);
  CHECK(count(RecomputeModule::core_attn) == 1);
  // Each sum belongs to a chain that reaches back to the first layer.
  const Model far = model(
      "      - repeat:\n          times: 2000\n          layers:\n            - fully_connected: 4\n"
      "              name: made\n            - add:\n              from: [made, stem]\n        name: round\n");
  const ModelFacts far_facts = facts_of(far);
  CHECK(std::count_if(far_facts.modules.begin(), far_facts.modules.end(),
                      [](RecomputeModules own) { return own.contains(RecomputeModule::mlp); }) < 300);
}

TEST_CASE("modules of a block are found by the content of its branches") {
  using enum RecomputeModule;
  using Names = std::vector<std::string>;
  const Model mixture = small_mixture();
  CHECK(layers_of(mixture, core_attn, "layer0") == Names{"attention.attention1"});
  CHECK(layers_of(mixture, layernorm, "layer0") == Names{"attention.normed", "normed"});
  CHECK(layers_of(mixture, mla_up_proj, "layer0") ==
        Names{"attention.keys_and_values", "attention.queries.up", "attention.queries.rotary1"});
  CHECK(layers_of(mixture, mlp, "layer0").empty());
  const Names shared = layers_of(mixture, shared_experts, "layer0");
  CHECK(shared.size() == 5);
  CHECK(std::all_of(shared.begin(), shared.end(), [](const auto& name) { return name.starts_with("mixture.shared."); }));
  // The layers are the activation and the product of both halves.
  CHECK(layers_of(mixture, moe_act, "layer0").size() == 2);
  const Names experts = layers_of(mixture, moe, "layer0");
  CHECK(experts.front() == "mixture.routed.router");
  // The layers are router, dispatch, five layers of each MLP, combine and their sum.
  CHECK(experts.size() == 14);
  CHECK(layers_of(mixture, mlp, "dense_layer0").size() == 5);
  CHECK(layers_of(mixture, moe, "dense_layer0").empty());
  // Without compressed queries, the product computes the queries from the norm's output.
  const Names direct = layers_of(load_model("deepseek-v2-lite"), mla_up_proj, "layer0");
  CHECK(direct == Names{"attention.keys_and_values", "attention.queries.up", "attention.queries.rotary1"});
  // Dropout after the MLP is not part of the module.
  CHECK(layers_of(load_model("gpt2"), mlp, "layer0").size() == 3);
  CHECK(layers_of(load_model("gpt2"), layernorm, "layer0").size() == 2);
  // Attention and MLP are parallel, with two norms of one tensor.
  CHECK(layers_of(load_model("gpt-neox-20b"), mlp, "layer0").size() == 3);
  CHECK(layers_of(load_model("gpt-neox-20b"), layernorm, "layer0").size() == 2);
  CHECK(facts_of(load_model("resnet50")).has_modules.is_empty());
  CHECK(facts_of(load_model("llama3-8b")).has_modules == RecomputeModules{core_attn, layernorm, mlp});
}

TEST_CASE("tensors that modules recompute are not kept") {
  using enum RecomputeModule;
  const OnNodes owned(small_llama());
  Plan none = again({core_attn});
  none.recompute = Recompute::none;
  const double all = kept_by(owned, none);
  // Each of 3 layers has 32 tokens of 4 samples. The outputs of two norms have 64 elements of 2 bytes.
  // Their statistics have 4 bytes, and RMS norm has one number per token.
  const double tokens = 32 * 4;
  CHECK(all - kept_by(owned, again({layernorm})) == Approx(3 * 2 * tokens * (64 * 2 + 4)));
  // The outputs of gate, up and the product have 128 elements each. The activation runs in the kernel of the product.
  CHECK(all - kept_by(owned, again({mlp})) == Approx(3 * tokens * 3 * 128 * 2));
  // The input of the MLP is the norm's output. If the norm drops its output, it is recomputed before the MLP.
  CHECK(all - kept_by(owned, again({layernorm, mlp})) == Approx(3 * tokens * (2 * (64 * 2 + 4) + 3 * 128 * 2)));

  const OnNodes mixture(small_mixture());
  Plan whole = none;
  const double kept = kept_by(mixture, whole);
  // In both layers, queries have 4 heads of 16 and 8 channels, and keys and values have 4 heads of
  // 16 channels each, plus 8 shared channels. The queries before rotation are overwritten.
  const auto up = kept - kept_by(mixture, again({mla_up_proj}));
  double written = 0;
  for (std::size_t i = 0; i < mixture.model.layers.size(); ++i) {
    const bool is_up = mixture.facts.modules[i].contains(mla_up_proj);
    if (is_up && mixture.facts.output_kept[i])
      written += static_cast<double>(mixture.model.layers[i].output_shape.items()) * 4 * 2;
  }
  CHECK(up == Approx(written));
  CHECK(written > 0);
  // The product has 32 elements of 2 bytes for each of the tokens' 2 copies, for 32 tokens of 4 samples. The kernel of the
  // activation and the product keeps gate and up, which are products of matrices.
  CHECK(kept - kept_by(mixture, again({moe_act})) == Approx(tokens * 2 * 32 * 2));
}

TEST_CASE("products keep no copies in fp8 of recomputed tensors, and inputs in fp8 stay in fp8") {
  using enum RecomputeModule;
  Assumptions stored = OnNodes::as_megatron();
  stored.fp8_activation_inputs = true;
  Plan none = again({core_attn}), activation = again({moe_act});
  none.recompute = Recompute::none;
  none.precision = activation.precision = Precision::fp8;
  // The product has 32 elements for each of the tokens' 2 copies, for 32 tokens of 4 samples, and a scale for 32 elements.
  const double copy = 32 * 4 * 2 * 33;
  for (const Assumptions& assumptions : {OnNodes::as_megatron(), stored}) {
    const OwnedJob owned(small_mixture(), OnNodes::exact(), assumptions, 1000);
    CHECK(kept_by(owned, none) - kept_by(owned, activation) == Approx(copy));
  }
}

TEST_CASE("backward takes longer by forward of the recomputed modules") {
  using enum RecomputeModule;
  const OnNodes owned(small_mixture());
  const LayerKinds kinds = layer_kinds(owned.facts, owned.kernels.serial(), {});
  Plan plan = again({core_attn});
  plan.recompute = Recompute::none;
  plan.global_batch = 64;
  const Estimator estimator(owned.job);
  const double without = estimator.estimate(plan).time[Part::backward].value();
  plan.recompute = Recompute::selective;
  for (const RecomputeModule module : {core_attn, moe_act, layernorm, mla_up_proj, mlp, shared_experts, moe}) {
    plan.recompute_modules = {module};
    const LayerCostTable table(owned.job, plan, kinds);
    double forward = 0;
    for (std::size_t i = 0; i < owned.model.layers.size(); ++i) {
      if (owned.facts.modules[i].contains(module)) forward += table.at(static_cast<int>(i))[LayerTime::forward].value();
    }
    INFO(recompute_module_names[module]);
    CHECK(forward > 0);
    CHECK(estimator.estimate(plan).time[Part::backward].value() - without == Approx(forward));
  }
}

// The gradients of the last product of a perceptron need its input alone.
TEST_CASE("recomputation that stops early leaves out the last product of a module") {
  Assumptions early;
  early.recompute_stops_early = true;
  const OwnedJob whole(small_llama(), nodes_of_four(), {}, 1000), short_one(small_llama(), nodes_of_four(), early, 1000);
  const Plan plan = again({RecomputeModule::mlp});
  const auto backward = [&](const OwnedJob& owned) {
    return Estimator(owned.job).estimate(plan).time[Part::backward].value();
  };
  const LayerKinds kinds = layer_kinds(whole.facts, whole.kernels.serial(), {});
  const LayerCostTable table(whole.job, plan, kinds);
  double spared = 0, flops = 0;
  for (std::size_t i = 0; i < whole.model.layers.size(); ++i) {
    const Layer& layer = whole.model.layers[i];
    if (!layer.name.ends_with(".perceptron.down")) continue;
    spared += table.at(static_cast<int>(i))[LayerTime::forward].value();
    flops += 2 * layer.operation->unmasked_macs(layer.input_shapes, layer.output_shape);
  }
  CHECK(spared > 0);
  CHECK(backward(whole) - backward(short_one) == Approx(spared));
  CHECK(sample_flops(whole.job).hardware(plan) - sample_flops(short_one.job).hardware(plan) == Approx(flops));
}

TEST_CASE("recomputed experts repeat their All-to-all") {
  using enum RecomputeModule;
  const OnNodes owned(small_mixture());
  const Estimator estimator(owned.job);
  Plan plan = again({moe_act});
  plan.mesh.set(Axis::expert, 4);
  plan.global_batch = 16;
  const double twice = estimator.estimate(plan).time[Part::layer_collectives].value();
  CHECK(twice > 0);
  plan.recompute_modules = {moe};
  // Dispatch and combine run in forward and backward, and again in recomputation: three times instead of twice.
  CHECK(estimator.estimate(plan).time[Part::layer_collectives].value() == Approx(1.5 * twice));
}

TEST_CASE("an additional module takes at least as much time and at most as much memory") {
  const OnNodes owned(small_mixture());
  const Estimator estimator(owned.job);
  for (int number = 0; number <= RecomputeModules::last_number; ++number) {
    const RecomputeModules modules = RecomputeModules::numbered(number);
    const Plan plan = again(modules);
    const double time = estimator.estimate(plan).time.step_time().value();
    const double kept = kept_by(owned, plan);
    for (std::size_t i = 0; i < recompute_module_count; ++i) {
      RecomputeModules more = modules;
      more.add(static_cast<RecomputeModule>(i));
      INFO(to_string(more));
      CHECK(estimator.estimate(again(more)).time.step_time().value() >= time * (1 - 1e-12));
      CHECK(kept_by(owned, again(more)) <= kept * (1 + 1e-12));
    }
  }
  // Even all modules together keep more than the inputs of blocks.
  Plan full = again({RecomputeModule::core_attn});
  full.recompute = Recompute::full;
  CHECK(kept_by(owned, again(RecomputeModules::numbered(RecomputeModules::last_number))) > kept_by(owned, full));
}

TEST_CASE("with equal layers the peak grows linearly, for any recomputed modules") {
  // With many equal layers, the middle layers are counted and not visited, with the same result.
  const OnNodes owned(load_model("llama@layers=9@hidden=64@heads=4@kv_heads=4@feed_forward=128@vocabulary=100@tokens=32"));
  const OnNodes short_one(
      load_model("llama@layers=8@hidden=64@heads=4@kv_heads=4@feed_forward=128@vocabulary=100@tokens=32"));
  const OnNodes shorter(load_model("llama@layers=7@hidden=64@heads=4@kv_heads=4@feed_forward=128@vocabulary=100@tokens=32"));
  using enum RecomputeModule;
  for (const RecomputeModules modules :
       {RecomputeModules{layernorm}, RecomputeModules{mlp, layernorm}, RecomputeModules{core_attn, layernorm, mlp}}) {
    const auto peak = [&](const OnNodes& each) { return Estimator(each.job).memory(again(modules)).activations.value(); };
    CHECK(peak(owned) - peak(short_one) == Approx(peak(short_one) - peak(shorter)));
  }
}

TEST_CASE("modules that a model lacks, or that are not recomputed, make a plan impossible") {
  using enum RecomputeModule;
  const OnNodes owned(small_llama());
  const Estimator estimator(owned.job);
  const auto limit = [&](const Plan& plan) { return estimator.limits(plan); };
  CHECK(limit(again({mlp, layernorm})).empty());
  REQUIRE(limit(again({mlp, mla_up_proj})).size() == 1);
  CHECK(limit(again({mlp, mla_up_proj})).begin()->item == "mla_up_proj");
  Plan plan = again({mlp});
  plan.recompute = Recompute::full;
  REQUIRE(limit(plan).size() == 1);
  CHECK(limit(plan).begin()->kind == Limit::Kind::recompute_modules);
}

}  // namespace
