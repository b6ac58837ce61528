#include "calibration/kernels/kernel_prediction.hpp"

#include <string>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/study.hpp"
#include "core/error.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "tests/catch.hpp"

namespace kernel_prediction_tests {

namespace {

using namespace ddl;

KernelProblem kernel(const std::string& line) {
  if (is_update_problem(line)) return parse_update_problem(line, "test");
  return parse_problem(line, "test");
}

std::vector<KernelProblem> kernels(const std::vector<std::string>& lines) {
  std::vector<KernelProblem> problems;
  for (const std::string& line : lines) problems.push_back(kernel(line));
  return problems;
}

std::string pool(int samples) {
  return "pool kind=max kernel=2x2 stride=2 in=64x32x32 samples=" + std::to_string(samples) + " precision=fp32 pass=forward";
}

/// Returns a profile of the lines with medians in us. The intervals reach from a tenth below to a fifth above the medians.
FoundProfile profile(const std::vector<std::pair<std::string, double>>& medians, bool with_interval = true) {
  FoundProfile found{.path = "test.profile", .profile = {}};
  for (const auto& [line, median] : medians) {
    ProfileRow row;
    row.measurement.problem = line;
    Samples& samples = row.measurement.samples;
    samples.median = samples.low = samples.high = Seconds(median * 1e-6);
    if (with_interval) {
      samples.low *= 0.9;
      samples.high *= 1.2;
    }
    found.profile.rows.push_back(row);
  }
  return found;
}

TEST_CASE("H200 has the multiprocessors of H100, so kernels that compute take as long") {
  // The products of attention take about a hundred times as long as its traffic.
  const std::string attention =
      "attention heads=32 kv_heads=8 causal=yes fused=yes in=6144x131072t samples=1 precision=bf16 pass=";
  const auto seconds = [&](const char* machine, const char* pass) {
    const Machine loaded = load_machine(machine);
    const KernelModel model(loaded.device, Precision::bf16);
    const Problem problem = parse_problem(attention + pass, "test");
    Seconds sum{};
    for (const Work& work : problem.operation->kernels(problem.pass, problem.inputs, problem.output))
      sum += model.seconds(work, problem.pass, 1);
    return sum.value();
  };
  for (const char* pass : {"forward", "backward-data"}) {
    INFO(pass);
    CHECK(seconds("dgx-h200", pass) / seconds("dgx-h100", pass) == Approx(1).epsilon(0.05));
  }
}

TEST_CASE("a kernel without measurements is predicted as plans of an unmeasured model are predicted") {
  // VGG-11 was not timed on any machine. Other models were timed on ABCI, and none on an RTX 8000. In
  // training, products on these machines do not have a lower share of their peak.
  for (const std::string machine : {"abci", "workstation-rtx8000"}) {
    StudySpec spec;
    spec.model = "vgg11";
    spec.machine = machine;
    // The software of a plan may copy images between formats and add biases by separate kernels. A
    // single kernel does neither.
    spec.software = std::string(no_software);
    spec.settings.set("memory_format", {static_cast<double>(MemoryFormat::channels_last), SettingOrigin::option, {}});
    spec.profiles.files = {"none"};
    const Study study(spec);
    WholeLayers layers(study.job().facts, 4, study.precision(), study.optimizer());
    std::vector<KernelProblem> problems;
    std::vector<Seconds> times;
    for (std::size_t i = 0; i < study.model().layers.size(); ++i) {
      const ShardContext& context = layers.at(i);
      for (const ShardProblem& each : shard_problems(context, layers.shard())) {
        problems.emplace_back(each.problem);
        const Problem& own = each.problem;
        times.push_back(study.kernels().pass_time(i, *own.operation, own.pass, own.inputs, own.output, double(own.samples),
                                                  own.precision));
      }
      if (const auto update = shard_update(context, layers.shard())) {
        problems.emplace_back(*update);
        times.push_back(study.kernels().update_cost(double(update->parameters)).time);
      }
    }
    const PredictedKernels predicted = predict_kernels(problems, study.machine(), study.coefficients(), {});
    CHECK(predicted.warnings.empty());
    REQUIRE(predicted.kernels.size() == times.size());
    REQUIRE(times.size() > 30);
    for (std::size_t i = 0; i < times.size(); ++i) {
      INFO(machine << ": " << predicted.kernels[i].line);
      CHECK(predicted.kernels[i].time.value() == Approx(times[i].value()).epsilon(1e-12));
      // A factor for all kernels of a model does not determine the error of a single kernel.
      if (machine == "abci") {
        CHECK(predicted.kernels[i].source == Provenance::curve);
        CHECK_FALSE(predicted.kernels[i].low);
      } else if (!is_update_problem(predicted.kernels[i].line)) {
        REQUIRE(predicted.kernels[i].low);
        CHECK(*predicted.kernels[i].low <= predicted.kernels[i].time);
        CHECK(*predicted.kernels[i].high >= predicted.kernels[i].time);
      }
    }
  }
}

TEST_CASE("a measured kernel has its median and interval, and another kernel of its family is interpolated") {
  const std::vector<FoundProfile> found{profile({{pool(4), 10}, {pool(16), 40}})};
  const PredictedKernels predicted =
      predict_kernels(kernels({pool(4), pool(8), pool(64)}), load_machine("dgx-a100"), {}, found);
  CHECK(predicted.warnings.empty());
  REQUIRE(predicted.kernels.size() == 3);
  const PredictedKernel& measured = predicted.kernels[0];
  CHECK(measured.line == pool(4));
  CHECK(measured.source == Provenance::measured);
  CHECK(measured.time.value() == Approx(10e-6));
  REQUIRE(measured.low);
  CHECK(measured.low->value() == Approx(9e-6));
  CHECK(measured.high->value() == Approx(12e-6));
  // Both kernels take the same multiple of their roofline time. Four times as many samples have
  // four times the roofline time.
  CHECK(predicted.kernels[1].source == Provenance::interpolated);
  CHECK(predicted.kernels[1].time.value() == Approx(20e-6));
  CHECK_FALSE(predicted.kernels[1].low);
  CHECK(predicted.kernels[2].source == Provenance::curve);
  CHECK(predicted.kernels[2].time.value() == Approx(160e-6));
  CHECK_FALSE(predicted.kernels[2].high);
}

TEST_CASE("of two measurements of a kernel, the narrower interval is used") {
  const std::vector<FoundProfile> found{profile({{pool(4), 10}}), profile({{pool(4), 12}}, false)};
  const PredictedKernels predicted = predict_kernels(kernels({pool(4)}), load_machine("dgx-a100"), {}, found);
  CHECK(predicted.kernels.front().time.value() == Approx(12e-6));
  // A measurement of one repetition has no interval.
  CHECK_FALSE(predicted.kernels.front().low);
}

TEST_CASE("kernels in a precision without profiles are predicted by the kernel model, with one warning") {
  const std::vector<FoundProfile> found{profile({{pool(4), 10}})};
  const std::string update = "update optimizer=momentum parameters=1000000 precision=bf16";
  const PredictedKernels predicted =
      predict_kernels(kernels({pool(4), update, update}), load_machine("dgx-a100"), {}, found);
  CHECK(predicted.kernels[0].source == Provenance::measured);
  CHECK(predicted.kernels[1].source == Provenance::curve);
  REQUIRE(predicted.warnings.size() == 1);
  CHECK(predicted.warnings.front().find("no kernel in bf16 was measured") == 0);
}

TEST_CASE("a precision that the data sheet does not have is an error") {
  const std::string half = "pool kind=max kernel=2x2 stride=2 in=64x32x32 samples=4 precision=bf16 pass=forward";
  CHECK_THROWS_AS(predict_kernels(kernels({half}), load_machine("abci"), {}, {}), Error);
}

}  // namespace

}  // namespace kernel_prediction_tests
