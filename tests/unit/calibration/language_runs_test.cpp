#include <algorithm>
#include <string>
#include <vector>

#include "calibration/plan_degrees.hpp"
#include "calibration/run_fit.hpp"
#include "calibration/runs.hpp"
#include "calibration/validation.hpp"
#include "tests/catch.hpp"

// Measured iterations of language models beside what is predicted: calibration/observations/README.md has their source.

using namespace ddl;

TEST_CASE("the bundled tables of language models say how each run was divided") {
  const auto node = load_runs("vtrain-a100-node"), cluster = load_runs("vtrain-a100-cluster");
  // As many rows as the published tables have that are here.
  CHECK(node.size() == 997);
  CHECK(cluster.size() == 73);
  for (const auto& runs : {node, cluster}) {
    for (const MeasuredRun& run : runs) {
      INFO(run.origin);
      REQUIRE_FALSE(run.degrees.empty());
      REQUIRE(run.micro_batch);
      REQUIRE(run.global_batch);
      Plan plan;
      parse_degrees(run.degrees, plan);
      // Every replica's share of the batch is whole micro-batches.
      const auto share = static_cast<std::int64_t>(*run.global_batch) / plan.data;
      CHECK(share * plan.data == static_cast<std::int64_t>(*run.global_batch));
      CHECK(share % *run.micro_batch == 0);
    }
  }
}

TEST_CASE("iterations on two and four devices teach those on eight") {
  const auto runs = load_runs("vtrain-a100-node");
  const Validation before = validate(select_runs(runs, std::vector<RunFilter>{parse_where("gpus=8")}), "dgx-a100", "none");
  const Validation learned = RunFitter(runs, "dgx-a100", "none").fit_up_to(4);
  REQUIRE(learned.cases.size() == before.cases.size());
  // Seen: 0.902 beside 0.470, and every strategy above 0.82.
  CHECK(learned.summary.overall.accuracy > 0.88);
  CHECK(learned.summary.overall.accuracy > before.summary.overall.accuracy + 0.3);
  for (const auto& [strategy, group] : learned.summary.by_strategy) {
    INFO(strategy);
    CHECK(group.accuracy > 0.8);
    CHECK(group.predicted == group.cases);
  }
}

TEST_CASE("families of plans agree on how fast the host starts kernels, and large models say nothing of it") {
  const auto runs = load_runs("vtrain-a100-node");
  std::vector<double> starts;
  for (const char* strategy : {"data", "layer", "tensor", "data+layer", "data+tensor", "layer+tensor"}) {
    const std::vector<RunFilter> filters{parse_where(std::string("strategy=") + strategy)};
    const RunFit fit = RunFitter(select_runs(runs, filters), "dgx-a100", "none").fit();
    CHECK(fit.choices.back().determined());
    starts.push_back(fit.coefficients.software.kernel_start.value());
  }
  // Each fitted by itself: 73 to 87 us seen.
  CHECK(*std::max_element(starts.begin(), starts.end()) < 1.3 * *std::min_element(starts.begin(), starts.end()));

  const RunFit large = RunFitter(load_runs("vtrain-a100-cluster"), "dgx-a100", "none").fit();
  CHECK(large.coefficients.software.kernel_start == Seconds{});
}
