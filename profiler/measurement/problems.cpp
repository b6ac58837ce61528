#include "profiler/measurement/problems.hpp"

#include "model_zoo/network/input_gradient.hpp"

namespace ddl {

std::vector<LayerProblems> layer_problems(const Model& model, std::int64_t samples, Precision precision,
                                          Optimizer optimizer) {
  std::vector<LayerProblems> problems(model.layers.size());
  const std::vector<bool> needs_gradient = needs_input_gradient(model);
  const std::vector<int> additions = gradient_additions(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const Operation::Local local = layer.operation->local(layer.input_shapes, layer.output_shape);
    Problem problem{local.operation ? local.operation : layer.operation,
                    local.inputs,
                    layer.output_shape,
                    samples,
                    precision,
                    Pass::forward};
    const auto line = [&problem](Pass pass) {
      problem.pass = pass;
      return problem.operation->work(pass, problem.inputs, problem.output).is_any() ? print_problem(problem) : std::string();
    };
    LayerProblems& lines = problems[i];
    lines.forward = line(Pass::forward);
    if (needs_gradient[i] && !problem.operation->passes_gradient()) lines.backward_data = line(Pass::backward_data);
    if (!is_frozen(model, layer)) lines.backward_weight = line(Pass::backward_weight);
    lines.additions = additions[i];
    if (additions[i] > 0) lines.addition = print_problem(gradient_addition(layer.output_shape, samples, precision));
    if (layer.tied_to >= 0 && !is_frozen(model, layer)) {
      const SharedTable table = problem.operation->shared_table(problem.inputs, problem.output);
      if (table.rows > 0 && table.columns > 0) lines.table_addition = print_problem(table_addition(table, precision));
    }
    if (layer.trained() > 0) lines.update = print_problem(UpdateProblem{optimizer, layer.trained(), precision});
  }
  return problems;
}

std::vector<CountedProblem> problems_of(const Model& model, std::int64_t samples, Precision precision, Optimizer optimizer) {
  ProblemCounts problems;
  for (const LayerProblems& lines : layer_problems(model, samples, precision, optimizer)) {
    for (const std::string& line : {lines.forward, lines.backward_data, lines.backward_weight}) {
      if (!line.empty()) problems.add(line);
    }
    if (lines.additions > 0) problems.add(lines.addition, lines.additions);
    if (!lines.table_addition.empty()) problems.add(lines.table_addition);
    if (!lines.update.empty()) problems.add(lines.update);
  }
  return problems.take();
}

}  // namespace ddl
