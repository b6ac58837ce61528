#include "estimator/search/granularity.hpp"

#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

using namespace ddl;

namespace {

Assumptions nothing_hidden() {
  Assumptions assumptions;
  assumptions.overlap = false;
  assumptions.include_input = false;
  assumptions.allreduce = AllreduceAlgorithm::ring;
  return assumptions;
}

const std::string two_matrices =
    "  - fully_connected: 5\n"
    "  - activation: relu\n"
    "  - fully_connected: 3\n"
    "  - loss: cross_entropy\n";

}  // namespace

TEST_CASE("granularity compares computation with communication, level by level") {
  const OwnedJob owned(model_of("{features: 12}", two_matrices), nodes_of_four(), nothing_hidden(), 1e6);
  const std::vector<LevelGrain> grains = level_grains(owned.job, Precision::fp32, Optimizer::momentum, 4);
  REQUIRE(grains.size() == 2);
  CHECK(grains[0].name == "node");
  CHECK(grains[0].devices == 4);
  CHECK(grains[1].name == "system");
  CHECK(grains[1].devices == 32);

  // The exchange is a ring over the four devices of a node, of (12·5 + 5 + 5·3 + 3) fp32 gradients:
  // 2·3·(1 s + 332 B / 4 · 1 ms/B).
  CHECK(grains[0].communicating.value() == Approx(6 * (1 + 83 * 4 / 4 * 1e-3)));
  CHECK(grains[1].communicating > grains[0].communicating);
  // Each device has its 4 samples, wherever the other devices are. No kernel has enough FLOPs to be compute-bound, so a
  // kernel takes its bytes over 100 GB/s, in elements of 4 B. The first matrix has two kernels of 4·(12 + 5) + 65 elements,
  // relu 4·2·5 and 4·3·5, the second matrix three kernels of 4·(5 + 3) + 18, and the loss 4·6 in forward and 4·12 in
  // backward. The update reads weight, gradient and momentum and writes two of them, 20 B for each of 83 parameters.
  const double computing = (4 * (2 * 133 + 40 + 60 + 3 * 50 + 24 + 48) + 20 * 83) / 100e9;
  CHECK(grains[0].computing.value() == Approx(computing));
  CHECK(grains[1].computing.value() == Approx(computing));
  CHECK(grains[0].data_parallel().value() == Approx(computing / 6.498));

  // The loss moves the fewest bytes: it reads and writes 3 elements of 4 samples, 96 B at 100 GB/s.
  CHECK(grains[0].smallest_node.value() == Approx(96 / 100e9));
  // The largest edge is the output of the first matrix, 5 elements of 4 samples: 80 B at 1 ms/B after
  // 1 s, or at 10 ms/B after 2 s.
  CHECK(grains[0].largest_edge.value() == Approx(1 + 80 * 1e-3));
  CHECK(grains[1].largest_edge.value() == Approx(2 + 80 * 10e-3));
  CHECK(grains[1].graph().value() == Approx(96 / 100e9 / 2.8));
}

TEST_CASE("a plan without communication has no ratio of computation to communication") {
  Machine machine = nodes_of_four();
  machine.levels.resize(1);
  machine.levels.front().units = 1;
  const OwnedJob owned(model_of("{features: 12}", "  - softmax\n"), machine, nothing_hidden(), 1e6);
  const std::vector<LevelGrain> grains = level_grains(owned.job, Precision::fp32, Optimizer::momentum, 1);
  REQUIRE(grains.size() == 1);
  CHECK_FALSE(grains[0].data_parallel());
  CHECK_FALSE(grains[0].graph());
}
