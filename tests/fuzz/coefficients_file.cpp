// A coefficients file: read it, and price kernels by what it says.

#include "calibration/coefficients_reader.hpp"
#include "calibration/machine_reader.hpp"
#include "model_zoo/model.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/owned_job.hpp"

namespace ddl {
namespace {

void price(const Coefficients& coefficients) {
  static const Model model = load_model("alexnet");
  static const Machine machine = load_machine("abci");
  const OwnedJob owned(model, machine, Assumptions(), 1e6, std::nullopt, Precision::fp32, Optimizer::momentum, coefficients);
  const Estimator estimator(owned.job);
  Plan plan;
  plan.data = 4;
  plan.filter = 2;
  plan.spatial = {2, 1, 1};
  plan.global_batch = 256;
  static_cast<void>(estimator.estimate(plan));
  static_cast<void>(estimator.lower_bound(plan));
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto coefficients =
      ddl::result_of([&] { return ddl::parse_coefficients(ddl::text_of(data, size), "coefficients.yaml"); });
  if (!coefficients) return 0;
  for (const auto& fraction : {coefficients->filter_undivided, coefficients->channel_undivided}) {
    ddl::require(!fraction || (*fraction >= 0 && *fraction <= 1), "a fraction outside [0, 1]");
  }
  ddl::price(*coefficients);
  return 0;
}
