#include <set>
#include <string>

#include "model_zoo/model.hpp"
#include "profiler/backends/cuda/backend.hpp"
#include "profiler/problems.hpp"
#include "tests/catch.hpp"

using namespace ddl;

// A model with an operation that is not there fails here, by its name and with the operation's reason.
TEST_CASE("the cuda back end runs every operation of every bundled model") {
  const auto backend = make_cuda_backend({});
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    std::set<std::string> refusals;
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      for (const CountedProblem& problem : problems_of(model, 2, precision, Optimizer::adam)) {
        const std::string why = is_update_problem(problem.line) ? backend->refusal(parse_update_problem(problem.line, name))
                                                                : backend->refusal(parse_problem(problem.line, name));
        if (!why.empty()) refusals.insert(why + ": " + problem.line);
      }
    }
    INFO(name);
    CHECK(refusals == std::set<std::string>{});
  }
}
