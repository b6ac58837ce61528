#include <set>
#include <string>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/backends/cuda/backend.hpp"
#include "profiler/measurement/problems.hpp"
#include "tests/catch.hpp"

using namespace ddl;

namespace {

/// Operations that models of the zoo need and no back end computes: a model with another missing operation fails below.
const std::set<std::string> not_computed{
    "attention whose values have another size than its keys is not supported by this back end",
    "attention with capped scores is not supported by this back end",
    "attention with sinks is not supported by this back end",
    "latent_keys_and_values is not supported by this back end",
    "mamba2 is not supported by this back end",
    "a loss with capped outputs is not supported by this back end",
    "query_key_norm is not supported by this back end",
    "a router with sigmoids is not supported by this back end",
    "a router with a bias is not supported by this back end",
    "a router with groups of experts is not supported by this back end",
    "the function relu2 is not supported by this back end",
};

}  // namespace

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
