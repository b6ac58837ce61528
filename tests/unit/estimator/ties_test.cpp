#include "estimator/search/ties.hpp"

#include <vector>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace ties_tests {

using namespace ddl;

/// Returns the simplest plan that ties with ZeRO-3 in groups of four of eight data-parallel ranks. On two nodes of four
/// devices, data parallelism without shards ties with it, but ZeRO-3 among all ranks does not.
Plan simplest(SearchOptions options) {
  Plan plan;
  plan.mesh.set(Axis::data, 8);
  plan.global_batch = options.global_batch = 8;
  plan.zero_stage = 3;
  plan.shard_group = 4;
  options.devices = 8;
  options.precision = plan.precision;
  options.optimizer = plan.optimizer;
  options.tie = 0.05;
  const OwnedJob owned(load_model("alexnet"), nodes_of_four(), Assumptions{}, 1000, std::nullopt, plan.precision,
                       plan.optimizer);
  const Estimator estimator(owned.job);
  const VariantSpace space(options, owned.facts, owned.machine);
  std::vector<Estimate> best{estimator.estimate(plan)};
  REQUIRE(best.front().feasible());
  const Seconds most = best.front().time.step_time() * (1 + options.tie);
  plan.shard_group = 0;
  REQUIRE(estimator.estimate(plan).time.step_time() > most);
  plan.zero_stage = 0;
  REQUIRE(estimator.estimate(plan).time.step_time() <= most);
  Ties(estimator, options, space).settle(best, 1);
  return best.front().plan;
}

TEST_CASE("shards in groups are replaced by plain data parallelism that ties") {
  const Plan simple = simplest({});
  CHECK(simple.zero_stage == 0);
  CHECK(simple.shard_group == 0);
}

TEST_CASE("a shard group that the user chose is not dropped for a simpler plan") {
  SearchOptions options;
  options.chosen[PlanChoice::shard_group] = 4;
  const Plan simple = simplest(options);
  CHECK(simple.zero_stage > 0);
  CHECK(simple.shard_group == 4);
}

}  // namespace ties_tests
