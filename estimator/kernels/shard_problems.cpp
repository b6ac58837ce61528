#include "estimator/kernels/shard_problems.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"
#include "estimator/kernels/timed_kernel.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "estimator/strategies/spatial.hpp"
#include "model_zoo/network/update_list.hpp"

namespace ddl {
namespace {

/// Returns whether the compiler also fuses casts, with the elementwise kernel or the reduction before or after them [Ansel
/// et al., PyTorch 2, ASPLOS 2024, section 4.3].
bool fuses_casts(const ShardContext& context) { return context.assumptions.fusing == Fusing::all; }

/// Returns whether the layer reads a part of the batch, which no kernel writes.
bool reads_batch(const Layer& layer) {
  return std::any_of(layer.inputs.begin(), layer.inputs.end(), [](int input) { return input < 0; });
}

/// Returns whether the layer is a loss whose kernel reads an output in half precision, and converts each element itself.
bool converts_in_kernel(const ShardContext& context) {
  const Layer& layer = context.facts.model->layers[context.index()];
  if (!fuses_casts(context) || layer.operation->type() != "loss") return false;
  const std::vector<bool>& is_wide = context.facts.autocast.is_wide;
  return std::all_of(layer.inputs.begin(), layer.inputs.end(),
                     [&](int input) { return input >= 0 && !is_wide[static_cast<std::size_t>(input)]; });
}

}  // namespace

std::string_view kernel_name(const ShardProblem& problem) {
  if (problem.problem.operation->type() == cast_pass) return cast_pass;
  return problem.adds_gradients ? "gradient-sum" : to_string(problem.problem.pass);
}

Work work_of(const ShardProblem& problem, double samples) {
  const Problem& own = problem.problem;
  Work work = own.operation->work(own.pass, own.inputs, own.output);
  work.flops *= problem.times;
  work.activation_items *= problem.times;
  if (kernel_name(problem) == cast_pass && static_cast<double>(own.samples) != samples) {
    work.weight_items = work.activation_items * static_cast<double>(own.samples);
    work.activation_items = 0;
  }
  return work;
}

Phase phase_of(const ShardProblem& problem) {
  return problem.problem.pass == Pass::forward && !problem.adds_gradients ? Phase::forward : Phase::backward;
}

TableRows table_rows(const ShardContext& context) {
  const std::int64_t rows = context.facts.tensor_units[context.index()];
  const bool is_cut =
      context.facts.tensor_role[context.index()] == TensorSplitRole::lookup && rows >= context.plan.mesh[Axis::tensor];
  return {is_cut ? largest_part(rows, context.plan.mesh[Axis::tensor]) : rows, rows};
}

std::vector<ShardProblem> shard_problems(const ShardContext& context, const LayerShard& shard) {
  std::vector<ShardProblem> problems;
  const auto samples = static_cast<std::int64_t>(std::llround(shard.samples));
  const std::shared_ptr<const Operation>& operation = context.operation(shard);
  Operation::Local local = operation->local(shard.inputs, shard.output);
  Problem problem{.operation = local.operation ? local.operation : operation,
                  .inputs = std::move(local.inputs),
                  .output = shard.output,
                  .samples = samples,
                  .precision = precision_of(context)};
  if (const TableRows rows = table_rows(context); rows.is_cut()) {
    if (auto part = problem.operation->with_rows(rows.own)) problem.operation = std::move(part);
  }
  // The inputs define a problem. If parts are uneven, the output that follows from the largest
  // input part may be larger than the largest output part.
  try {
    problem.output = problem.operation->infer(problem.inputs);
  } catch (const Error&) {
    // The operation cannot run on this input part alone, but its cost can be estimated.
  }
  for (const Pass pass : {Pass::forward, Pass::backward_weight, Pass::backward_data}) {
    const bool is_asked = pass == Pass::forward ||
                          (pass == Pass::backward_weight && !context.facts.frozen[context.index()]) ||
                          (pass == Pass::backward_data && context.facts.needs_input_gradient[context.index()] &&
                           !problem.operation->passes_gradient());
    if (!is_asked || !problem.operation->work(pass, problem.inputs, problem.output).is_any()) continue;
    problem.pass = pass;
    problems.push_back({problem, 1, false});
  }
  const bool casting = casts(context.plan, context.assumptions);
  if (casting) {
    // A layer that shares the weights of another layer has no weights of its own. The owner's table is used instead.
    const std::int64_t weights = problem.operation->weights(problem.inputs, problem.output);
    const SharedTable table = problem.operation->shared_table(problem.inputs, problem.output);
    const std::int64_t biases = problem.operation->biases(problem.inputs, problem.output);
    // Without inputs, only the weights are cast: products read and write them in kernels of a library.
    const bool fuses = fuses_casts(context) && !reads_batch(context.facts.model->layers[context.index()]);
    const CastLayer own{context.index(), fuses ? std::span<const TensorShape>{} : shard.inputs,
                        std::max(weights, table.rows * table.columns) + biases, samples,
                        context.facts.needs_input_gradient[context.index()]};
    for (Problem& cast : autocast_casts(*context.facts.model, context.facts.autocast, own, context.plan.precision)) {
      problems.push_back({std::move(cast), 1, false});
    }
  }
  if (context.at().tied_to >= 0 && !context.facts.frozen[context.index()]) {
    const SharedTable table = problem.operation->shared_table(problem.inputs, problem.output);
    const Precision precision = casting ? Precision::fp32 : update_precision(context.plan.precision);
    if (table.rows > 0 && table.columns > 0) problems.push_back({table_addition(table, precision), 1, true});
  }
  // A gradient has the size that its tensor has in memory after exchanges.
  if (const int additions = context.facts.gradient_additions[context.index()]; additions > 0) {
    problems.push_back({gradient_addition(shard.kept_output, samples, precision_of(context)), additions, true});
  }
  return problems;
}

Precision precision_of(const ShardContext& context) {
  const bool is_cast = casts(context.plan, context.assumptions) && !converts_in_kernel(context);
  return is_cast ? context.facts.autocast.precision(context.index(), context.plan.precision)
                 : kernel_precision(context.facts, context.index(), context.plan.precision);
}

std::optional<UpdateProblem> shard_update(const ShardContext& context, const LayerShard& shard) {
  const auto parameters = static_cast<std::int64_t>(std::llround(shard.updated()));
  if (parameters < 1) return std::nullopt;
  // Autocast's weights and gradients are in fp32.
  const bool casting = casts(context.plan, context.assumptions);
  const Precision precision = casting ? Precision::fp32 : update_precision(context.plan.precision);
  if (is_of_list(context.assumptions.update)) {
    return update_of_all(*context.facts.model, context.plan.optimizer, precision, context.assumptions.update);
  }
  return UpdateProblem{timed_as(context.plan.optimizer), parameters, precision};
}

std::vector<std::array<int, 3>> tilings(const ModelFacts& facts, int tiles) {
  const int rank = facts.model->input.sequence ? 0 : facts.model->input.rank;
  const bool mirrored = rank > 1 && mirrors_alike(facts);
  std::vector<std::array<int, 3>> all;
  for (int first = 1; first <= (rank > 0 ? tiles : 1); ++first) {
    if (tiles % first != 0) continue;
    for (int second = 1; second <= (rank > 1 ? tiles / first : 1); ++second) {
      const int third = tiles / first / second;
      if (first * second * third != tiles || (rank < 3 && third > 1)) continue;
      if (mirrored && (second < first || (rank > 2 && third < second))) continue;
      all.push_back({first, second, third});
    }
  }
  return all;
}

WholeLayers::WholeLayers(const ModelFacts& facts, double samples, Precision precision, Optimizer optimizer,
                         const Assumptions& assumptions, const Mesh& mesh)
    : assumptions_(assumptions), context_{facts, plan_, assumptions_, 0, {}} {
  plan_.mesh = mesh;
  plan_.global_batch = std::llround(samples) * mesh.batch_parts();
  plan_.precision = precision;
  plan_.optimizer = optimizer;
}

const ShardContext& WholeLayers::at(std::size_t layer) {
  context_.layer = static_cast<int>(layer);
  shard_layer(context_, shard_);
  return context_;
}

std::vector<CountedProblem> split_problems(const ModelFacts& facts, const std::vector<Mesh>& splits,
                                           const std::vector<std::int64_t>& samples, Precision precision,
                                           Optimizer optimizer, const Software& software, const Assumptions& assumptions) {
  std::vector<CountedProblem> problems;
  std::unordered_set<std::string> known;
  LayerShard shard;
  const auto add = [&](Plan plan) {
    plan.precision = precision;
    plan.optimizer = optimizer;
    if (!limits_of({facts, plan, software}).empty()) return;
    for (const std::int64_t batch : samples) {
      ProblemCounts counts;
      plan.global_batch = batch;
      ShardContext context{facts, plan, assumptions, 0, replicated_layers(facts, plan, software)};
      for (; context.index() < facts.model->layers.size(); ++context.layer) {
        shard_layer(context, shard);
        for (const ShardProblem& each : shard_problems(context, shard)) counts.add(print_problem(each.problem), each.times);
        if (const auto update = shard_update(context, shard)) counts.add(print_problem(*update));
      }
      for (CountedProblem& each : counts.take()) {
        if (known.insert(each.line).second) problems.push_back(std::move(each));
      }
    }
  };
  add({});
  for (const Mesh& split : splits) {
    Plan plan;
    plan.mesh = split;
    if (split.devices() > 1) add(plan);
  }
  return problems;
}

}  // namespace ddl
