#include "profiler/problems.hpp"

#include <string>

#include "model_zoo/input_gradient.hpp"

namespace ddl {

std::vector<CountedProblem> problems_of(const Model& model, std::int64_t samples, Precision precision, Optimizer optimizer) {
  ProblemCounts problems;
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
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
      if (pass == Pass::backward_data && (!needs_gradient[i] || problem.operation->passes_gradient())) continue;
      problem.pass = pass;
      if (problem.operation->work(pass, problem.inputs, problem.output).is_any()) problems.add(print_problem(problem));
    }
    if (additions[i] > 0)
      problems.add(print_problem(gradient_addition(layer.output_shape, samples, precision)), additions[i]);
    if (layer.parameters() > 0) problems.add(print_problem(UpdateProblem{optimizer, layer.parameters(), precision}));
  }
  return problems.take();
}

}  // namespace ddl
