// A model file: read it, and price a few plans of what it says.

#include <cmath>
#include <utility>
#include <vector>

#include "calibration/machine_reader.hpp"
#include "model_zoo/model.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/owned_job.hpp"

namespace ddl {
namespace {

/// One plan for each way of dividing layers.
std::vector<Plan> plans() {
  std::vector<Plan> plans(4);
  plans[1].data = 2;
  plans[1].layer = 3;
  plans[1].micro_batches = 4;
  plans[2].spatial = {2, 2, 1};
  plans[2].filter = 3;
  plans[2].channel = 2;
  plans[3].tensor = 4;
  plans[3].zero_stage = 3;
  plans[3].recompute = Recompute::full;
  for (Plan& plan : plans) plan.global_batch = 64;
  return plans;
}

void price(Model model) {
  static const Machine machine = load_machine("dgx-a100");
  const OwnedJob owned(std::move(model), machine, Assumptions(), 1e6);
  const Estimator estimator(owned.job);
  for (const Plan& plan : plans()) {
    const Estimate estimate = estimator.estimate(plan);
    const double time = estimate.time.iteration().value();
    const double memory = estimate.memory.total().value();
    require(std::isfinite(time) && time >= 0, "the time of an iteration is not a time");
    require(std::isfinite(memory) && memory >= 0, "the memory of a device is not an amount");
  }
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Enough for every kind of layer; a price takes longer the more there are.
  constexpr std::size_t most_layers = 1000;
  auto model = ddl::result_of([&] { return ddl::parse_model(ddl::text_of(data, size), "model.yaml"); });
  if (model && model->layers.size() <= most_layers) ddl::price(*std::move(model));
  return 0;
}
