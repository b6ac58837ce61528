#include "estimator/inputs/expert_load.hpp"

#include "tests/catch.hpp"

namespace {

using namespace ddl;

TEST_CASE("the fullest rank of natural routing has the published violation of 64 experts") {
  // [Wang et al., arXiv 2408.15664, table 2]: (0.72 + 0.52)/2 under an auxiliary loss, 0.04 with biases.
  CHECK(routed_load(Routing::natural, 64, 64) == Approx(1.62));
  CHECK(routed_load(Routing::loss_free, 64, 64) == Approx(1.04));
  CHECK(routed_load(Routing::balanced, 64, 64) == 1);
  // The mean of four independent loads has half the spread of one.
  CHECK(routed_load(Routing::natural, 256, 64) == Approx(1.31));
  // Blom's scores of 8 and 64 values are Φ⁻¹(7.625/8.25) = 1.4342 and Φ⁻¹(63.625/64.25) = 2.3367.
  CHECK(routed_load(Routing::natural, 8, 8) == Approx(1 + 0.62 * 1.4342 / 2.3367).epsilon(1e-3));
  // A rank with all experts has all tokens.
  CHECK(routed_load(Routing::natural, 64, 1) == 1);
}

TEST_CASE("a capacity bounds the tokens of the fullest rank, and padding makes all ranks equal") {
  Assumptions assumptions;
  CHECK(expert_load(assumptions, 64, 64) == 1);
  CHECK(is_load_unknown(assumptions));
  assumptions.routing = Routing::natural;
  CHECK_FALSE(is_load_unknown(assumptions));
  CHECK(expert_load(assumptions, 64, 64) == Approx(1.62));
  assumptions.capacity_factor = 1.25;
  CHECK(expert_load(assumptions, 64, 64) == 1.25);
  CHECK(expert_load(assumptions, 64, 1) == 1);
  assumptions.padded_experts = true;
  CHECK(expert_load(assumptions, 64, 1) == 1.25);
  // A stated load takes precedence over that of the routing.
  assumptions = Assumptions{};
  assumptions.routing = Routing::natural;
  assumptions.expert_imbalance = 1.1;
  CHECK(expert_load(assumptions, 64, 64) == 1.1);
}

}  // namespace
