#include <utility>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

using namespace ddl;

namespace {

OwnedJob one_layer() {
  return {parse_model("format: 1\nmodel: m\ninput: {features: 8}\nlayers:\n  - fully_connected: 8\n", "m.yaml"),
          nodes_of_four(), Assumptions{}, 1000};
}

}  // namespace

TEST_CASE("a job with replaced parts owns these parts, and shares all other parts") {
  const OwnedJob owner = one_layer();
  const auto changed = [&] {
    Coefficients coefficients;
    coefficients.name = "others";
    Assumptions assumptions;
    assumptions.overlap = false;
    const Job first = owner.job.with_coefficients(std::move(coefficients));
    return first.with_assumptions(assumptions);
  }();
  CHECK(changed.coefficients.name == "others");
  CHECK_FALSE(changed.assumptions.overlap);
  CHECK(&changed.facts == &owner.facts);
  CHECK(&changed.machine == &owner.machine);
  CHECK(&changed.kernels == &owner.kernels);
  CHECK(changed.samples_per_epoch == owner.job.samples_per_epoch);
  CHECK(owner.job.assumptions.overlap);
}
