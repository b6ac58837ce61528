// Fuzzes a profile: a parsed profile is written and parsed back, and times based on the profile are finite.

#include "profiler/profiles/profile_file.hpp"

#include <cmath>

#include "calibration/inputs/profile_times.hpp"
#include "estimator/kernels/problem_times.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/profiles/profiling.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

namespace {

using namespace ddl;

void check_prices(const Profile& profile) {
  static const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 4, size: 8x8}\nlayers:\n"
      "  - convolution: {filters: 4, kernel: 3, padding: 1}\n  - activation: relu\n",
      "m.yaml");
  static const Problem convolution =
      parse_problem("convolution filters=4 kernel=3x3 padding=1 in=4x8x8 samples=2 pass=forward", "fuzzer");
  static const Problem relu = parse_problem("activation kind=relu in=4x8x8 samples=4 pass=backward-data", "fuzzer");
  static const UpdateProblem update = parse_update_problem("update optimizer=sgd parameters=148", "fuzzer");
  Device device;
  device.peak[Precision::fp32] = FlopRate(1e12);
  device.memory_bandwidth = Bandwidth(100e9);
  const FoundProfile found{"any.profile", profile};
  const MeasuredKernels kernels = measured_kernels(std::span(&found, 1), model, Precision::fp32);
  for (const StepOverhead& overhead : {kernels.forward, kernels.backward, kernels.update}) {
    require(std::isfinite(overhead.factor) && std::isfinite(overhead.per_kernel.value()), "an overhead is not a number");
  }
  const ProblemTimes times(kernels, {device, Precision::fp32}, Precision::fp32);
  if (times.empty()) return;
  for (const KernelCost& price : {times.cost(convolution), times.cost(relu), times.cost(update)}) {
    require(std::isfinite(price.time.value()) && price.time.value() >= 0, "a price is not a time");
  }
  require(std::isfinite(times.least_ratio(convolution)), "a least ratio is not a number");
  for (const SumCheck& sum_check : sum_checks(profile, model))
    require(std::isfinite(sum_check.error()), "a sum_check is not a number");
  require(std::isfinite(steadiness_of(profile).slowest), "a speed is not a number");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto profile = result_of([&] { return parse_profile(text_of(data, size), "any.profile"); });
  if (!profile) return 0;
  const std::string written = print_profile(*profile);
  const auto again = result_of([&] { return parse_profile(written, "again"); });
  require(again && print_profile(*again) == written, "a profile is not read as it was written");
  for (const ProfileRow& row : at_full_speed(*profile).rows) {
    require(std::isfinite(row.measurement.samples.median.value()), "a time at full speed is not a number");
  }
  check_prices(*profile);
  const FileOfText file(text_of(data, size), ".profile");
  look_at_reports({"recommend", "--model", "alexnet", "--machine", "abci", "--profile", file.path(), "--any-device",
                   "--gpus", "4", "--top", "1"},
                  {"text", "csv", "json"}, text_of(data, size));
  return 0;
}
