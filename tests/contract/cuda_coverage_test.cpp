#include <set>
#include <string>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/backends/cuda/backend.hpp"
#include "profiler/measurement/problems.hpp"
#include "tests/catch.hpp"
#include "tests/contract/not_computed.hpp"

using namespace ddl;

// A model with a missing operation fails here, with its name and the reason.
TEST_CASE("the cuda back end runs every operation of every bundled model, except those that it refuses by name") {
  const auto backend = make_cuda_backend({});
  std::set<std::string> met;
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    std::set<std::string> refusals;
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      for (const CountedProblem& problem : problems_of(model, 2, precision, Optimizer::adam)) {
        const std::string why = is_update_problem(problem.line) ? backend->refusal(parse_update_problem(problem.line, name))
                                                                : backend->refusal(parse_problem(problem.line, name));
        if (not_computed.contains(why)) {
          met.insert(why);
        } else if (!why.empty()) {
          refusals.insert(why + ": " + problem.line);
        }
      }
    }
    INFO(name);
    CHECK(refusals == std::set<std::string>{});
  }
  CHECK(met == not_computed);
}
