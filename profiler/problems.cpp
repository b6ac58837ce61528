#include "profiler/problems.hpp"

#include <unordered_map>
#include <vector>

#include "model_zoo/input_gradient.hpp"

namespace ddl {
namespace {

bool is_any(const Work& work) { return work.flops > 0 || work.activation_items > 0 || work.weight_items > 0; }

}  // namespace

std::vector<LayerProblems> layer_problems(const Model& model, std::int64_t samples, Precision precision,
                                          Optimizer optimizer) {
  std::vector<LayerProblems> problems;
  problems.reserve(model.layers.size());
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
    const auto line = [&problem](Pass pass) {
      problem.pass = pass;
      return is_any(problem.operation->work(pass, problem.inputs, problem.output)) ? print_problem(problem) : std::string();
    };
    LayerProblems& lines = problems.emplace_back();
    lines.forward = line(Pass::forward);
    if (needs_gradient[i]) lines.backward_data = line(Pass::backward_data);
    lines.backward_weight = line(Pass::backward_weight);
    if (layer.parameters() > 0) lines.update = print_problem(UpdateProblem{optimizer, layer.parameters(), precision});
  }
  return problems;
}

std::vector<CountedProblem> problems_of(const Model& model, std::int64_t samples, Precision precision, Optimizer optimizer) {
  std::vector<CountedProblem> problems;
  std::unordered_map<std::string, std::size_t> places;
  for (const LayerProblems& lines : layer_problems(model, samples, precision, optimizer)) {
    for (const std::string& line : {lines.forward, lines.backward_data, lines.backward_weight, lines.update}) {
      if (line.empty()) continue;
      const auto [place, is_new] = places.emplace(line, problems.size());
      if (is_new) problems.push_back({line, 0});
      ++problems[place->second].layers;
    }
  }
  return problems;
}

}  // namespace ddl
