#include "profiler/problems.hpp"

#include <algorithm>
#include <unordered_map>

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
  // Backward reaches a tensor only if something before it is trained.
  std::vector<bool> trained_before(model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    bool reaches_input = false;
    for (const int producer : layer.inputs) {
      if (producer >= 0) reaches_input = reaches_input || trained_before[static_cast<std::size_t>(producer)];
    }
    trained_before[i] = reaches_input || layer.parameters() > 0 || layer.tied_to >= 0;
    const Operation::Local local = layer.operation->local(layer.input_shapes, layer.output_shape);
    Problem problem{local.operation ? local.operation : layer.operation,
                    local.inputs,
                    layer.output_shape,
                    samples,
                    precision,
                    Pass::forward};
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
      if (pass == Pass::backward_data && !reaches_input) continue;
      problem.pass = pass;
      if (is_any(problem.operation->work(pass, problem.inputs, problem.output))) count(print_problem(problem));
    }
    if (layer.parameters() > 0) count(print_problem(UpdateProblem{optimizer, layer.parameters(), precision}));
  }
  return problems;
}

}  // namespace ddl
