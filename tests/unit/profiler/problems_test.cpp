#include "profiler/measurement/problems.hpp"

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/input_gradient.hpp"
#include "tests/catch.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

using namespace ddl;

namespace {

std::vector<std::string> lines_of(const std::vector<CountedProblem>& problems) {
  std::vector<std::string> lines;
  for (const CountedProblem& problem : problems) lines.push_back(std::to_string(problem.layers) + " " + problem.line);
  return lines;
}

}  // namespace

TEST_CASE("the problems of a model are the problems of its layers, each counted once") {
  const Model model = model_of("{channels: 4, size: 8x8}",
                               "  - convolution: {filters: 4, kernel: 3, padding: 1, bias: no}\n"
                               "  - activation: relu\n"
                               "  - convolution: {filters: 4, kernel: 3, padding: 1, bias: no}\n"
                               "  - activation: relu\n"
                               "  - flatten\n");
  const std::string convolution =
      " convolution filters=4 kernel=3x3 padding=1 bias=no in=4x8x8 samples=2 precision=fp32 pass=";
  const std::string relu = "2 activation kind=relu in=4x8x8 samples=2 precision=fp32 pass=";
  // The input of the first layer needs no gradient. The flatten has no work.
  CHECK(lines_of(problems_of(model, 2, Precision::fp32, Optimizer::adam)) ==
        std::vector<std::string>{"2" + convolution + "forward", "2" + convolution + "backward-weight",
                                 "2 update optimizer=adam parameters=144 precision=fp32", relu + "forward",
                                 relu + "backward-data", "1" + convolution + "backward-data"});
}

TEST_CASE("gradients of a tensor with two readers are added, and an addition passes its gradient on") {
  const Model model = model_of("{channels: 4, size: 8x8}",
                               "  - convolution: {filters: 4, kernel: 1, bias: no}\n"
                               "  - residual:\n"
                               "      body:\n"
                               "        - activation: relu\n"
                               "      shortcut: []\n");
  const std::string shape = "in=4x8x8 samples=1 precision=fp32 pass=";
  CHECK(lines_of(problems_of(model, 1, Precision::fp32, Optimizer::sgd)) ==
        std::vector<std::string>{"1 convolution filters=4 kernel=1x1 bias=no " + shape + "forward",
                                 "1 convolution filters=4 kernel=1x1 bias=no " + shape + "backward-weight",
                                 "2 add in=4x8x8,4x8x8 samples=1 precision=fp32 pass=forward",
                                 "1 update optimizer=sgd parameters=16 precision=fp32",
                                 "1 activation kind=relu " + shape + "forward",
                                 "1 activation kind=relu " + shape + "backward-data"});
}

TEST_CASE("layers that depend only on the sample have no backward-data problem") {
  const Model model = model_of("{features: 4}", "  - activation: relu\n  - fully_connected: {features: 4, bias: no}\n");
  for (const std::string& line : lines_of(problems_of(model, 2, Precision::fp32, Optimizer::sgd))) {
    INFO(line);
    CHECK(line.find("backward-data") == std::string::npos);
  }
}

TEST_CASE("every problem of a bundled model can be read, and all problems together have the model's work") {
  for (const std::string& name : model_names()) {
    INFO(name);
    const Model model = load_model(name);
    double forward = 0;
    double sums = 0;  // of gradients, which belong to no layer's work
    double tables = 0;
    const std::vector<int> additions = gradient_additions(model);
    for (std::size_t i = 0; i < additions.size(); ++i)
      sums += additions[i] * static_cast<double>(model.layers[i].output_shape.items());
    // A table that two layers share has one addition per item, regardless of the number of samples.
    for (const Layer& layer : model.layers) {
      if (layer.tied_to < 0) continue;
      const SharedTable table = layer.operation->shared_table(layer.input_shapes, layer.output_shape);
      tables += static_cast<double>(table.rows * table.columns);
    }
    std::int64_t updated = 0;
    for (const CountedProblem& each : problems_of(model, 3, Precision::fp32, Optimizer::sgd)) {
      if (is_update_problem(each.line)) {
        updated += each.layers * parse_update_problem(each.line, "test").parameters;
        continue;
      }
      const Problem problem = parse_problem(each.line, "test");
      CHECK(print_problem(problem) == each.line);
      if (problem.pass != Pass::forward) continue;
      forward += each.layers * problem.operation->work(problem.pass, problem.inputs, problem.output).flops;
    }
    CHECK(forward == Approx(model.flops(Pass::forward) + sums + tables));
    CHECK(updated == model.trained_parameters());
  }
}
