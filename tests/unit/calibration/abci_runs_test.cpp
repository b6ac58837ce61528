// Tests the fit to runs on ABCI on held-out configurations.

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/learning/run_fit.hpp"
#include "tests/catch.hpp"

namespace abci_runs_tests {

using namespace ddl;

namespace {

std::vector<MeasuredRun> runs_of(const std::string& quantities) {
  const std::vector<RunFilter> filters{parse_where("quality=A,B"), parse_where("includes_io=no"),
                                       parse_where("quantity=" + quantities)};
  return select_runs(load_runs("paradl-abci"), filters);
}

}  // namespace

TEST_CASE("steps on ABCI are predicted from other configurations") {
  const ValidationSummary summary = RunFitter(runs_of("iter_total_s"), "abci", "").leave_one_out().summary;
  REQUIRE(summary.overall.cases == 97);
  CHECK(summary.overall.accuracy >= 0.85);
  CHECK(summary.groups.at("data").accuracy >= 0.93);
  CHECK(summary.kendall_tau > 0.85);
}

TEST_CASE("the bundled coefficients equal a new fit to the runs on ABCI") {
  std::vector<MeasuredRun> runs = runs_of("iter_total_s");
  // The bundled coefficients are those of ChainerMN.
  std::erase_if(runs, [](const MeasuredRun& run) { return !run.software.empty(); });
  const RunFit fit = RunFitter(runs, "abci", "").fit();
  const Coefficients bundled = load_coefficients("abci");
  REQUIRE(fit.families.size() == bundled.learned.size());
  for (const FamilyFit& family : fit.families) {
    const Learned learned = learned_of(bundled.learned, family.family);
    for (const LearnedCoefficient& each : family.coefficients) {
      INFO(family_name(family.family) << ": " << to_string(each.what));
      // The tolerance is a tenth of the uncertainty after the fit.
      CHECK(std::abs(learned[each.what] - each.value) <= 0.1 * (each.high - each.low));
    }
  }
}

TEST_CASE("strategies rank as in Table VIII, each predicted from other configurations") {
  const Validation validation = RunFitter(runs_of("iter_total_s,epoch_s"), "abci", "").leave_one_out();
  std::map<std::pair<std::string, int>, std::vector<const ValidationCase*>> ranked;
  for (const ValidationCase& one : validation.cases) {
    if (one.run.quantity == "epoch_s") ranked[{one.run.model, *one.run.gpus}].push_back(&one);
  }
  int pairs = 0;
  for (const auto& [where, cases] : ranked) {
    for (const ValidationCase* a : cases) {
      for (const ValidationCase* b : cases) {
        if (a->run.value >= b->run.value) continue;
        // The printed total of this filter run differs from the sum of its parts, and the sum reverses the ranking.
        const bool doubtful = where == std::pair<std::string, int>("resnet50", 64) && a->run.strategy == "filter" &&
                              b->run.strategy == "channel";
        if (doubtful) continue;
        INFO(where.first << " on " << where.second << ": " << a->run.strategy << " before " << b->run.strategy);
        REQUIRE(a->predicted);
        REQUIRE(b->predicted);
        CHECK(*a->predicted < *b->predicted);
        ++pairs;
      }
    }
  }
  CHECK(pairs >= 15);
}

}  // namespace abci_runs_tests
