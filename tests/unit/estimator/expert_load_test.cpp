#include "estimator/inputs/expert_load.hpp"

#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

TEST_CASE("the fullest rank of natural routing has the published violation of 64 experts") {
  // [Wang et al., arXiv 2408.15664, table 2]: (0.72 + 0.52)/2 under an auxiliary loss, 0.04 with biases.
  CHECK(routed_load(Routing::natural, 64, 64) == Approx(1.62));
  CHECK(routed_load(Routing::loss_free, 64, 64) == Approx(1.04));
  CHECK(routed_load(Routing::balanced, 64, 64) == 1);
  CHECK(routed_load(Routing::consecutive, 64, 64) == 1);
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

/// Four expert-parallel ranks of a small mixture of experts.
MemoryBreakdown memory_of(const Assumptions& assumptions, Recompute recompute = Recompute::none) {
  Model model = parse_model(
      "format: 1\nmodel: mixture\nfamily: llama\nparameters: {layers: 4, hidden: 64, heads: 4, feed_forward: 256, "
      "vocabulary: 32, tokens: 64, experts: 8, active: 2}\n",
      "mixture.yaml");
  const OwnedJob owned(std::move(model), nodes_of_four(), assumptions, 1000, std::nullopt, Precision::fp32, Optimizer::sgd);
  Plan plan;
  plan.mesh.set(Axis::expert, 4);
  plan.global_batch = 64;
  plan.recompute = recompute;
  return Estimator(owned.job).estimate(plan).memory;
}

TEST_CASE("the rank with the most tokens keeps the activations of its tokens") {
  Assumptions assumptions;
  assumptions.routing = Routing::balanced;
  const MemoryBreakdown balanced = memory_of(assumptions);
  const auto more = [&](double load) {
    Assumptions other;
    other.expert_imbalance = load;
    return (memory_of(other).activations - balanced.activations).value();
  };
  // A rank has 16 samples of 64 tokens, each for two experts: 2,048 rows. A row is kept by the products of 64 inputs (gate
  // and up) and 256 inputs (down), and by the two operands of their elementwise product: at least 4 tensors in 4 layers.
  CHECK(more(2) >= 2048.0 * (64 + 3 * 256) * 4 * 4);
  CHECK(more(3) == Approx(2 * more(2)).epsilon(0.01));
  CHECK(more(1) == 0);
  assumptions.routing = Routing::natural;
  CHECK(memory_of(assumptions).activations > balanced.activations);
  assumptions.capacity_factor = 1;
  CHECK(memory_of(assumptions).activations == balanced.activations);
}

TEST_CASE("the upper bound of memory covers natural routing, unless the routing is stated") {
  Assumptions stated;
  stated.routing = Routing::balanced;
  const MemoryBreakdown open = memory_of({}), balanced = memory_of(stated);
  CHECK(open.total() == balanced.total());
  stated.routing = Routing::natural;
  CHECK(open.upper_bound() - balanced.upper_bound() >= (memory_of(stated).total() - balanced.total()) * 0.7);
  CHECK(open.uncertainty > balanced.uncertainty);
  // A recomputed block holds its tokens for the time of its own backward only.
  stated.routing = Routing::balanced;
  const auto added = [&](Recompute recompute) {
    return (memory_of({}, recompute).uncertainty - memory_of(stated, recompute).uncertainty).value();
  };
  CHECK(added(Recompute::full) == Approx(added(Recompute::none) / 4));
}

}  // namespace
