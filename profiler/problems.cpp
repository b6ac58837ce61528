#include "profiler/problems.hpp"

#include <unordered_map>
#include <vector>

#include "model_zoo/input_gradient.hpp"

namespace ddl {
namespace {

bool is_any(const Work& work) { return work.flops > 0 || work.activation_items > 0 || work.weight_items > 0; }

}  // namespace

std::vector<CountedProblem> problems_of(const Model& model, std::int64_t samples, Precision precision, Optimizer optimizer) {
  std::vector<CountedProblem> problems;
  std::unordered_map<std::string, std::size_t> places;
  const auto count = [&](std::string line) {
    const auto [place, is_new] = places.emplace(std::move(line), problems.size());
    if (is_new) problems.push_back({place->first, 0});
    ++problems[place->second].layers;
  };
  const std::vector<bool> needs_gradient = needs_input_gradient(model);
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
      if (pass == Pass::backward_data && !needs_gradient[i]) continue;
      problem.pass = pass;
      if (is_any(problem.operation->work(pass, problem.inputs, problem.output))) count(print_problem(problem));
    }
    if (layer.parameters() > 0) count(print_problem(UpdateProblem{optimizer, layer.parameters(), precision}));
  }
  return problems;
}

}  // namespace ddl
