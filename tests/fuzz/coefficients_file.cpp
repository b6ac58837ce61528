// Fuzzes a coefficients file: the file is parsed, kernel times are predicted with it, and fitted values are written into it.

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/learning/learned_file.hpp"
#include "estimator/search/time_bounds.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"
#include "tests/owned_job.hpp"

namespace ddl {
namespace {

void price(const Coefficients& coefficients) {
  static const Model model = load_model("alexnet");
  static const Machine machine = load_machine("abci");
  const OwnedJob owned(model, machine, Assumptions(), 1e6, std::nullopt, Precision::fp32, Optimizer::momentum, coefficients);
  const Estimator estimator(owned.job);
  const TimeBounds bounds(estimator);
  Plan plan;
  plan.mesh.set(Axis::data, 4);
  plan.mesh.set(Axis::filter, 2);
  plan.mesh.set_tiles({2, 1, 1});
  plan.global_batch = 256;
  static_cast<void>(estimator.estimate(plan));
  static_cast<void>(bounds.least(Closeness::degrees, plan));
}

void learn(const std::string& text, const Coefficients& coefficients) {
  RunFit fit;
  FamilyFit& family = fit.families.emplace_back();
  family.family = family_bit(Axis::data);
  family.runs = 1;
  family.coefficients.push_back({.what = Coefficient::kernels, .value = 1.5, .low = 1.25, .high = 1.75, .narrowing = 0.25});
  fit.choices.push_back({.key = "halo_route", .before = "direct", .after = "host", .margin = 4});
  // Not every YAML style can be extended.
  const auto learned = result_of([&] { return with_learned(text, fit, "runs"); });
  if (!learned) return;
  const Coefficients again = parse_coefficients(*learned, "learned.yaml");
  require(again.learned.size() == 1 && again.learned[0].second[Coefficient::kernels] == 1.5,
          "what was learned is not read back");
  require(again.software.halo_route == Route::host, "a choice is not read back");
  require(again.models.size() == coefficients.models.size() && again.exchanges == coefficients.exchanges,
          "learning changes what was measured");
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto coefficients =
      ddl::result_of([&] { return ddl::parse_coefficients(ddl::text_of(data, size), "coefficients.yaml"); });
  if (!coefficients) return 0;
  for (const auto& fraction : {coefficients->filter_undivided, coefficients->channel_undivided}) {
    ddl::require(!fraction || (fraction->fraction >= 0 && fraction->fraction <= 1), "a fraction outside [0, 1]");
  }
  ddl::price(*coefficients);
  ddl::learn(ddl::text_of(data, size), *coefficients);
  const ddl::FileOfText file(ddl::text_of(data, size), ".yaml");
  ddl::look_at_reports(
      {"recommend", "--model", "alexnet", "--machine", "abci", "--coefficients", file.path(), "--gpus", "4", "--top", "1"},
      {"text", "csv", "json"}, ddl::text_of(data, size));
  return 0;
}
