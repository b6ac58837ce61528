// Measures the speed of finding and estimating plans. The argument of each benchmark is the number of GPUs. The global batch
// is 32 per GPU, the default of `recommend`. Counters are the numbers of plans by outcome, and plans per second of CPU time.

#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "calibration/inputs/study.hpp"
#include "estimator/search/search.hpp"

namespace ddl {
namespace {

StudySpec resnet50_on(const std::string& machine) {
  StudySpec spec;
  spec.machine = machine;
  return spec;
}

SearchOptions options_for(const Study& study, std::int64_t devices) {
  SearchOptions options;
  options.devices = devices;
  options.global_batch = 32 * devices;
  options.precision = study.precision();
  options.optimizer = study.optimizer();
  options.top = 10;
  return options;
}

/// Returns the study's machine with memory for every plan, so that each estimated plan is feasible.
Machine roomy_machine(const Study& study) {
  Machine machine = study.machine();
  machine.device.memory = Bytes(1e30);
  return machine;
}
/// Returns the study's job on `machine`, which must outlive the job.
Job job_on(const Machine& machine, const Study& study) {
  const Job& job = study.job();
  return {.facts = job.facts,
          .machine = machine,
          .coefficients = job.coefficients,
          .kernels = job.kernels,
          .assumptions = job.assumptions,
          .samples_per_epoch = job.samples_per_epoch,
          .sample_bytes = job.sample_bytes,
          .dataset_bytes = job.dataset_bytes};
}

benchmark::Counter count(std::int64_t number) { return benchmark::Counter(static_cast<double>(number)); }
/// Returns a rate per second, for a number that is equal in all repetitions.
benchmark::Counter rate(std::int64_t number) {
  return {static_cast<double>(number), benchmark::Counter::kIsIterationInvariantRate};
}

/// Searches as `recommend` does.
void search_best(benchmark::State& state, const char* machine) {
  const Study study(resnet50_on(machine));
  const SearchOptions options = options_for(study, state.range(0));
  SearchResult result;
  while (state.KeepRunning()) {
    const Estimator estimator(study.job());
    result = search(estimator, options);
    benchmark::DoNotOptimize(result);
  }
  state.counters["considered"] = count(result.considered);
  state.counters["pruned"] = count(result.pruned);
  state.counters["considered/s"] = rate(result.considered);
  state.counters["pruned/s"] = rate(result.pruned);
  state.counters["estimated"] = count(result.estimated);
  state.counters["estimated/s"] = rate(result.estimated);
  state.SetComplexityN(result.considered);
}

/// Searches as `recommend --all` does: every possible plan is estimated, and none is pruned.
void estimate_all(benchmark::State& state, const char* machine) {
  const Study study(resnet50_on(machine));
  const Machine roomy_nodes = roomy_machine(study);
  const Job roomy = job_on(roomy_nodes, study);
  SearchOptions options = options_for(study, state.range(0));
  options.all = true;
  SearchResult result;
  while (state.KeepRunning()) {
    const Estimator estimator(roomy);
    result = search(estimator, options);
    benchmark::DoNotOptimize(result);
  }
  state.counters["considered"] = count(result.considered);
  state.counters["estimated"] = count(result.feasible);
  state.counters["considered/s"] = rate(result.considered);
  state.counters["estimated/s"] = rate(result.feasible);
  state.SetComplexityN(result.feasible);
}

// 720 has many divisors, which give more than ten times as many plans as 1,024 GPUs. N of the complexity is the number of
// plans, not of GPUs. A fit by O(N) therefore means that the cost per plan is constant.
void all_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int devices : {64, 256, 720, 1024, 4096}) benchmark->Arg(devices);
  benchmark->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);
}
void timed_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int devices : {64, 256, 1024, 4096}) benchmark->Arg(devices);
  benchmark->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);
}

BENCHMARK_CAPTURE(search_best, abci, "abci")->Apply(all_sizes);
BENCHMARK_CAPTURE(search_best, dgx_a100, "dgx-a100")->Apply(all_sizes);
BENCHMARK_CAPTURE(estimate_all, abci, "abci")->Apply(timed_sizes);
BENCHMARK_CAPTURE(estimate_all, dgx_a100, "dgx-a100")->Apply(timed_sizes);

}  // namespace
}  // namespace ddl
