// Measures the start-up cost of every command, and the cost of one estimate.

#include <cstddef>
#include <string>

#include <benchmark/benchmark.h>

#include "calibration/inputs/study.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

void load_bundled_model(benchmark::State& state, const std::string& name) {
  std::size_t layers = 0;
  while (state.KeepRunning()) {
    const Model model = load_model(name);
    layers = model.layers.size();
    benchmark::DoNotOptimize(layers);
  }
  state.counters["layers"] = static_cast<double>(layers);
}

/// Reads model, data set, machine and coefficients, and predicts kernel times.
void prepare_study(benchmark::State& state, const std::string& name) {
  StudySpec spec;
  spec.model = name;
  while (state.KeepRunning()) {
    const Study study(spec);
    benchmark::DoNotOptimize(study.kernels().scale());
  }
}

Plan plan_for(const Study& study) {
  Plan plan;
  plan.mesh.set(Axis::data, 64);
  plan.mesh.set(Axis::tensor, 4);
  plan.mesh.set(Axis::pipeline, 4);
  plan.global_batch = 2048;
  plan.micro_batches = 8;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  return plan;
}

/// Estimates a single plan, without cached results of other plans.
void estimate_first(benchmark::State& state, const std::string& name) {
  StudySpec spec;
  spec.model = name;
  const Study study(spec);
  const Plan plan = plan_for(study);
  while (state.KeepRunning()) {
    const Estimator estimator(study.job());
    benchmark::DoNotOptimize(estimator.estimate(plan));
  }
}

/// Estimates the previous plan with another ZeRO stage, as in a search.
void estimate_next(benchmark::State& state, const std::string& name) {
  StudySpec spec;
  spec.model = name;
  const Study study(spec);
  Plan plan = plan_for(study);
  const Estimator estimator(study.job());
  while (state.KeepRunning()) {
    plan.zero_stage = (plan.zero_stage + 1) % 4;
    benchmark::DoNotOptimize(estimator.estimate(plan));
  }
}

BENCHMARK_CAPTURE(load_bundled_model, resnet152, "resnet152")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load_bundled_model, gpt3_175b, "gpt3-175b")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(prepare_study, resnet152, "resnet152")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(prepare_study, gpt3_175b, "gpt3-175b")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(estimate_first, resnet152, "resnet152")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(estimate_first, gpt3_175b, "gpt3-175b")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(estimate_next, resnet152, "resnet152")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(estimate_next, gpt3_175b, "gpt3-175b")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ddl
