#include "estimator/kernels/shard_problems.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "estimator/kernels/timed_kernel.hpp"
#include "estimator/strategies/spatial.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"

namespace {

using namespace ddl;

std::vector<Plan> splits_of(const ModelFacts& facts) {
  std::vector<Plan> plans(1);
  const auto with = [&](const auto& change) {
    Plan plan;
    plan.global_batch = 2;
    change(plan);
    if (limits_of({facts, plan, Software{}}).empty()) plans.push_back(plan);
  };
  for (const int degree : {2, 3, 8}) {
    with([&](Plan& plan) { plan.mesh.set(Axis::filter, degree); });
    with([&](Plan& plan) { plan.mesh.set(Axis::channel, degree); });
    with([&](Plan& plan) { plan.mesh.set(Axis::tensor, degree); });
    with([&](Plan& plan) { plan.mesh.set_tiles({degree, 1, 1}); });
  }
  with([](Plan& plan) { plan.mesh.set_tiles({2, 4, 1}); });
  with([](Plan& plan) { plan.mesh.set_tiles({2, 2, 2}); });
  with([](Plan& plan) {
    plan.mesh.set(Axis::filter, 2);
    plan.mesh.set(Axis::channel, 2);
  });
  with([](Plan& plan) {
    plan.mesh.set_tiles({1, 2, 1});
    plan.mesh.set(Axis::tensor, 2);
  });
  return plans;
}

template <class Take>
void each_shard(const ModelFacts& facts, const Plan& plan, const Take& take) {
  const Assumptions assumptions;
  LayerShard shard;
  ShardContext context{facts, plan, assumptions, 0, replicated_layers(facts, plan, Software{})};
  for (; context.index() < facts.model->layers.size(); ++context.layer) {
    shard_layer(context, shard);
    take(context, shard);
  }
}

TEST_CASE("every problem of every split of every bundled model can be read and is the rank's own") {
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    for (const Plan& plan : splits_of(facts)) {
      std::map<std::string, bool> seen;
      each_shard(facts, plan, [&](const ShardContext& context, const LayerShard& shard) {
        for (const ShardProblem& each : shard_problems(context, shard)) {
          const std::string line = print_problem(each.problem);
          if (!seen.emplace(line, true).second) continue;
          INFO(name << " " << context.at().name << ", " << degrees_text(plan.mesh) << ": " << line);
          Problem read;
          REQUIRE_NOTHROW(read = parse_problem(line, "line"));
          REQUIRE(print_problem(read) == line);
          REQUIRE(read.output == each.problem.output);
          // Problems that differ only in sizes form one family.
          REQUIRE(read.operation->lasting_attributes() == each.problem.operation->lasting_attributes());
          // A slice of a single group is an ordinary convolution.
          const auto groups = [](const Operation& of) { return of.attribute_values().integer("groups", 1); };
          const bool has_one_group = groups(*context.at().operation) > 1 && groups(*each.problem.operation) == 1;
          if (!each.adds_gradients && !has_one_group)
            REQUIRE(read.operation->lasting_attributes() == context.at().operation->lasting_attributes());
          const Work own = each.problem.operation->work(each.problem.pass, each.problem.inputs, each.problem.output);
          const Work alone = read.operation->work(read.pass, read.inputs, read.output);
          REQUIRE(alone.flops == own.flops);
          REQUIRE(alone.activation_items == own.activation_items);
        }
      });
    }
  }
}

TEST_CASE("autocast's norms, sums and losses are problems in fp32, with casts between them and matrix products") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {tokens: 4}\nlayers:\n  - embedding: {vocabulary: 10, features: 8}\n  - residual:\n"
      "      - norm: layer\n      - fully_connected: 8\n  - fully_connected: {features: 10, bias: no}\n"
      "  - loss: cross_entropy\n",
      "m.yaml");
  const ModelFacts facts = facts_of(model);
  Assumptions assumptions;
  assumptions.mixed_precision = MixedPrecision::autocast;
  WholeLayers layers(facts, 2, Precision::bf16, Optimizer::adam, assumptions);
  std::map<std::string, std::string> precision;
  std::map<std::string, std::vector<std::string>> casts;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const ShardContext& context = layers.at(i);
    const std::string type(model.layers[i].operation->type());
    for (const ShardProblem& each : shard_problems(context, layers.shard())) {
      const bool is_cast = kernel_name(each) == cast_pass;
      if (is_cast) casts[type].push_back(print_problem(each.problem));
      if (is_cast) CHECK((phase_of(each) == Phase::forward) == (each.problem.pass == Pass::forward));
      if (!is_cast) precision[type] = to_string(each.problem.precision);
    }
    // Weights and their gradients are in fp32.
    if (const auto update = shard_update(context, layers.shard())) CHECK(update->precision == Precision::fp32);
  }
  CHECK(precision ==
        std::map<std::string, std::string>{
            {"embedding", "fp32"}, {"norm", "fp32"}, {"fully_connected", "bf16"}, {"add", "fp32"}, {"loss", "fp32"}});
  const auto cast = [](const std::string& to, int items, int samples, const std::string& from, Pass pass) {
    return fmt::format("cast to={} in={} samples={} precision={} pass={}", to, items, samples, from, to_string(pass));
  };
  const Pass there = Pass::forward, back = Pass::backward_data;
  using Lines = std::vector<std::string>;
  // The casts are the inputs of each product, with 2 × 4 × 8 elements, its 72 and 80 weights, and the gradients of all of
  // these. The engine casts the gradient that the sum sends to the branch. The loss computes in fp32.
  CHECK(casts["fully_connected"] == Lines{cast("bf16", 32, 2, "fp32", there), cast("bf16", 32, 2, "fp32", back),
                                          cast("bf16", 72, 1, "fp32", there), cast("bf16", 72, 1, "fp32", back),
                                          cast("bf16", 32, 2, "fp32", there), cast("bf16", 32, 2, "fp32", back),
                                          cast("bf16", 80, 1, "fp32", there), cast("bf16", 80, 1, "fp32", back)});
  CHECK(casts["add"] == Lines{cast("fp32", 32, 2, "bf16", back)});
  CHECK(casts["loss"] == Lines{cast("fp32", 40, 2, "bf16", there), cast("fp32", 40, 2, "bf16", back)});
  CHECK(casts.size() == 3);
}

TEST_CASE("a compiler fuses autocast's casts of activations, and the loss reads half precision") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {tokens: 4}\nlayers:\n  - embedding: {vocabulary: 10, features: 8}\n  - residual:\n"
      "      - norm: layer\n      - fully_connected: 8\n  - fully_connected: {features: 10, bias: no}\n"
      "  - loss: cross_entropy\n",
      "m.yaml");
  const ModelFacts facts = facts_of(model);
  const auto problems = [&](Fusing fusing, std::int64_t& casts) {
    Assumptions assumptions;
    assumptions.mixed_precision = MixedPrecision::autocast;
    assumptions.fusing = fusing;
    WholeLayers layers(facts, 2, Precision::bf16, Optimizer::adam, assumptions);
    std::map<std::string, std::string> precision;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const ShardContext& context = layers.at(i);
      for (const ShardProblem& each : shard_problems(context, layers.shard())) {
        const bool is_cast = kernel_name(each) == cast_pass;
        // Only weights and their gradients are cast by kernels of their own: 72 and 80 parameters.
        if (is_cast) casts += each.problem.samples * each.problem.inputs.front().items();
        if (!is_cast) precision[std::string(model.layers[i].operation->type())] = to_string(each.problem.precision);
      }
    }
    return precision;
  };
  std::int64_t compiled = 0, eager = 0;
  CHECK(problems(Fusing::all, compiled)["loss"] == "bf16");
  CHECK(problems(Fusing::none, eager)["loss"] == "fp32");
  CHECK(compiled == 2 * (72 + 80));
  CHECK(eager == compiled + 2 * (5 * 32 + 2 * 40));
}

TEST_CASE("a rank has its share of the table") {
  const Model model = load_model("gpt2");
  const ModelFacts facts = facts_of(model);
  Plan plan;
  plan.mesh.set(Axis::tensor, 4);
  std::vector<std::string> lines;
  each_shard(facts, plan, [&](const ShardContext& context, const LayerShard& shard) {
    if (context.at().operation->type() != "embedding") return;
    for (const ShardProblem& each : shard_problems(context, shard)) lines.push_back(print_problem(each.problem));
    // 50,257 rows in four shards are at most 12,565 rows, of 768 elements.
    REQUIRE(shard_update(context, shard)->parameters == 12'565 * 768);
  });
  REQUIRE(lines.front() == "embedding vocabulary=12565 features=768 in=1x1024t samples=1 precision=fp32 pass=forward");
}

TEST_CASE("a table that two layers share has one sum of their gradients, of the rank's rows") {
  const Model model = load_model("gpt2");
  const ModelFacts facts = facts_of(model);
  const auto sums = [&](const Plan& plan) {
    std::vector<std::string> lines;
    each_shard(facts, plan, [&](const ShardContext& context, const LayerShard& shard) {
      if (context.at().tied_to < 0) return;
      for (const ShardProblem& each : shard_problems(context, shard)) {
        if (each.adds_gradients) lines.push_back(print_problem(each.problem));
        if (each.adds_gradients) REQUIRE(phase_of(each) == Phase::backward);
      }
    });
    return lines;
  };
  const auto line = [](int rows) {
    return fmt::format("add in=768x{0}t,768x{0}t samples=1 precision=fp32 pass=forward", rows);
  };
  Plan plan;
  plan.global_batch = 3;
  REQUIRE(sums(plan) == std::vector<std::string>{line(50'257)});
  plan.mesh.set(Axis::tensor, 4);
  REQUIRE(sums(plan) == std::vector<std::string>{line(12'565)});
}

TEST_CASE("the problems of splits are listed once, after the problems of the whole model") {
  const Model model = load_model("resnet50");
  const ModelFacts facts = facts_of(model);
  const auto count = [&](const std::vector<Mesh>& splits, const std::vector<std::int64_t>& samples) {
    return split_problems(facts, splits, samples, Precision::fp32, Optimizer::sgd);
  };
  const std::vector<CountedProblem> whole = count({}, {4});
  const std::vector<CountedProblem> split = count({Mesh{{Axis::filter, 2}}, Mesh(Tiles{2, 1, 1})}, {4, 8});
  REQUIRE(split.size() > 3 * whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    REQUIRE(split[i].line == whole[i].line);
    REQUIRE(split[i].layers == whole[i].layers);
  }
  std::vector<std::string> lines;
  for (const CountedProblem& each : split) lines.push_back(each.line);
  std::sort(lines.begin(), lines.end());
  REQUIRE(std::adjacent_find(lines.begin(), lines.end()) == lines.end());
  // No layer of 64 filters can be split in 65.
  REQUIRE(count({Mesh{{Axis::filter, 65}}}, {4}).size() == whole.size());
}

TEST_CASE("square samples are cut into ascending numbers of tiles, other samples into all") {
  const Model images = load_model("resnet50");
  REQUIRE(tilings(facts_of(images), 8) == std::vector<std::array<int, 3>>{{1, 8, 1}, {2, 4, 1}});
  const Model volumes = load_model("cosmoflow-128");
  REQUIRE(tilings(facts_of(volumes), 4) == std::vector<std::array<int, 3>>{{1, 1, 4}, {1, 2, 2}});
  const Model tokens = load_model("gpt2");
  REQUIRE(tilings(facts_of(tokens), 2).empty());
  REQUIRE(tilings(facts_of(tokens), 1) == std::vector<std::array<int, 3>>{{1, 1, 1}});
}

}  // namespace
