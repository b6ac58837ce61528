#include "calibration/inputs/profile_times.hpp"

#include <memory>
#include <string>
#include <vector>

#include "calibration/inputs/setting_values.hpp"
#include "calibration/inputs/study.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/explain/kernel_time_shares.hpp"
#include "estimator/explain/unmeasured.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/update_list.hpp"
#include "profiler/backends/simulated/backend.hpp"
#include "profiler/measurement/problems.hpp"
#include "profiler/measurement/sequence.hpp"
#include "tests/catch.hpp"

namespace profile_times_tests {

namespace {

using namespace ddl;

/// Simulates measurements on a device without noise that is twice as slow as its roofline, with a launch overhead of 5 us.
class Simulant {
 public:
  explicit Simulant(std::string model) {
    profile_.head.model = std::move(model);
    profile_.head.backend = "simulated";
    profile_.head.device = "simulated device";
  }
  void measure_all(const std::vector<CountedProblem>& problems) {
    for (const CountedProblem& each : problems) measure_line(each.line, each.layers);
  }
  void measure_line(const std::string& line, int layers = 0) {
    profile_.rows.push_back({measure(*backend_, line, SamplingRule{}, CacheState::warm), layers});
  }
  void add_step(const Model& model, std::int64_t samples, StepPart part, Seconds time, const std::string& by = {},
                bool keeps_memory = false, bool graph = false) {
    Measurement whole;
    whole.problem = print_problem(
        SequenceProblem{model.name, samples, Precision::fp32, Optimizer::momentum, part, by, keeps_memory, graph});
    whole.samples.median = whole.samples.low = whole.samples.high = time;
    profile_.rows.push_back({whole, 0});
  }
  [[nodiscard]] StudySpec spec() const { return spec_of({profile_}); }
  [[nodiscard]] static StudySpec spec_of(const std::vector<Profile>& profiles) {
    FoundProfiles found;
    for (const Profile& each : profiles) found.profiles.push_back({"simulated.profile", each});
    StudySpec spec;
    spec.model = profiles.front().head.model;
    spec.found_profiles = std::make_shared<const FoundProfiles>(std::move(found));
    return spec;
  }
  [[nodiscard]] const Profile& profile() const { return profile_; }

 private:
  std::unique_ptr<KernelBackend> backend_ = make_simulated_backend(
      {.peak = FlopRate(5e12), .bandwidth = Bandwidth(500e9), .noise = 0, .fresh_memory = Bandwidth(2e9)});
  Profile profile_;
};

Plan serial(std::int64_t batch) {
  Plan plan;
  plan.global_batch = batch;
  plan.optimizer = Optimizer::momentum;
  return plan;
}

TEST_CASE("a serial step of measured kernels takes the sum of their times") {
  const Model model = load_model("alexnet");
  Simulant simulant("alexnet");
  simulant.measure_all(problems_of(model, 4, Precision::fp32, Optimizer::momentum));
  double sum = 0;
  for (const ProfileRow& row : simulant.profile().rows) sum += row.layers * row.measurement.samples.median.value();
  const Study study(simulant.spec());
  const Explanation explanation = explain(Estimator(study.job()), serial(4));
  CHECK(explanation.estimate.time.compute().value() == Approx(sum));
  CHECK(kernel_time_shares(explanation)[0] == 1.0);
  CHECK(study.kernels().reference_batch() == 4);
  CHECK(unmeasured_problems(Estimator(study.job()), {explanation.estimate}).empty());
}

TEST_CASE("a step under autocast takes the sum of the kernels that autocast runs in both precisions") {
  const std::string name = "gpt2@layers=2@tokens=64";
  const Model model = load_model(name);
  Assumptions assumptions;
  assumptions.mixed_precision = MixedPrecision::autocast;
  const auto spec_of = [&](const Simulant& simulant) {
    StudySpec spec = simulant.spec();
    spec.precision = Precision::bf16;
    spec.optimizer = Optimizer::adam;
    spec.assumptions = assumptions;
    return spec;
  };
  Plan plan = serial(4);
  plan.precision = Precision::bf16;
  plan.optimizer = Optimizer::adam;

  Simulant simulant(name);
  simulant.measure_all(split_problems(facts_of(model), {}, {4}, Precision::bf16, Optimizer::adam, {}, assumptions));
  double sum = 0;
  for (const ProfileRow& row : simulant.profile().rows) sum += row.layers * row.measurement.samples.median.value();
  const Study study(spec_of(simulant));
  const Explanation explanation = explain(Estimator(study.job()), plan);
  CHECK(explanation.estimate.time.compute().value() == Approx(sum));
  CHECK(kernel_time_shares(explanation)[0] == 1.0);
  CHECK(unmeasured_problems(Estimator(study.job()), {explanation.estimate}).empty());
  // The kernels of each layer are those of the layer's lines.
  for (const LayerExplanation& layer : explanation.layers) {
    Seconds lines{}, kernels{};
    for (const TimedProblem& each : layer.detail.problems) lines += each.is_update ? Seconds{} : each.time;
    for (const TimedKernel& each : layer.detail.kernels) kernels += each.time;
    CHECK(lines.value() == Approx(kernels.value()));
  }

  // If no norm was measured in fp32, a norm takes as long as in 16 bits, times two for its traffic.
  Simulant halves(name);
  halves.measure_all(problems_of(model, 4, Precision::bf16, Optimizer::adam));
  const Study told(spec_of(halves));
  const Study half([&] {
    StudySpec spec = spec_of(halves);
    spec.assumptions = {};
    return spec;
  }());
  const auto norm = [&](const Study& of) {
    for (const LayerExplanation& layer : explain(Estimator(of.job()), plan).layers) {
      if (of.model().layers[static_cast<std::size_t>(layer.layer)].operation->type() != "norm") continue;
      return layer.detail.kernels.front();
    }
    return TimedKernel{};
  };
  CHECK(norm(told).source == Provenance::curve);
  CHECK(norm(half).source == Provenance::measured);
  CHECK(norm(told).time / norm(half).time == Approx(2));
}

TEST_CASE("the update of a list takes its measured time, independent of the layers' updates") {
  const Model model = load_model("alexnet");
  Simulant simulant("alexnet");
  simulant.measure_all(problems_of(model, 4, Precision::fp32, Optimizer::momentum));
  const Study plain(simulant.spec());
  const Seconds by_layer = Estimator(plain.job()).estimate(serial(4)).time[Part::weight_update];
  for (const UpdateImplementation implementation :
       {UpdateImplementation::single, UpdateImplementation::foreach, UpdateImplementation::fused}) {
    INFO(to_string(implementation));
    simulant.measure_line(print_problem(update_of_all(model, Optimizer::momentum, Precision::fp32, implementation)));
    const Seconds measured = simulant.profile().rows.back().measurement.samples.median;
    // Without a request for this update, no time changes.
    const Study as_before(simulant.spec());
    CHECK(Estimator(as_before.job()).estimate(serial(4)).time[Part::weight_update].value() == by_layer.value());
    StudySpec spec = simulant.spec();
    spec.assumptions.update = implementation;
    // Copies of gradients to messages count as update, too.
    spec.settings = parse_settings("copies_gradients=no", SettingOrigin::option);
    const Study study(spec);
    const Explanation explanation = explain(Estimator(study.job()), serial(4));
    CHECK(explanation.estimate.time[Part::weight_update].value() == Approx(measured.value()));
    CHECK(unmeasured_problems(Estimator(study.job()), {explanation.estimate}).empty());
    // Half of the parameters take half of the list's time.
    Plan split = serial(4);
    split.mesh.set(Axis::data, 2);
    split.zero_stage = 1;
    CHECK(Estimator(study.job()).estimate(split).time[Part::weight_update].value() == Approx(measured.value() / 2));
  }
}

TEST_CASE("profiles with one image layout give this layout, and profiles with both layouts give a warning") {
  const auto profile_in = [](const std::string& layout) {
    Simulant simulant("alexnet");
    simulant.measure_line("activation kind=relu in=64x55x55 samples=4");
    Profile profile = simulant.profile();
    profile.head.layout = layout;
    return profile;
  };
  const Study one(Simulant::spec_of({profile_in("channels-last"), profile_in("")}));
  CHECK(one.kernels().measured()->layout() == "channels-last");
  CHECK(one.warnings().empty());
  const Study both(Simulant::spec_of({profile_in("channels-last"), profile_in("channels-first")}));
  CHECK(both.kernels().measured()->layout() == "both");
  REQUIRE(both.warnings().size() == 1);
  CHECK(both.warnings().front().starts_with("kernels of images were measured in channels-last and in channels-first"));
}

TEST_CASE("after measuring the missing problems of plans, none is missing") {
  for (const char* name : {"resnet18", "gpt2"}) {
    INFO(name);
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    Simulant simulant(name);
    simulant.measure_all(problems_of(model, 2, Precision::fp32, Optimizer::adam));
    const auto spec = [&] {
      StudySpec own = simulant.spec();
      own.precision = Precision::fp32;
      own.optimizer = Optimizer::adam;
      return own;
    };
    std::vector<Estimate> plans;
    {
      const Study study(spec());
      const Estimator estimator(study.job());
      Plan plan = serial(8);
      plan.optimizer = Optimizer::adam;
      plan.mesh.set(Axis::data, 2);
      plan.mesh.set(Axis::tensor, 2);
      plans.push_back(estimator.estimate(plan));
      plan.mesh.set(Axis::tensor, 1);
      plan.mesh.set(Axis::filter, 2);
      plan.mesh.set(Axis::channel, 2);
      plan.zero_stage = 1;
      plans.push_back(estimator.estimate(plan));
      if (!model.input.sequence) {
        plan.mesh.set(Axis::filter, 1);
        plan.mesh.set(Axis::channel, 1);
        plan.mesh.set_tiles({1, 2, 1});
        plans.push_back(estimator.estimate(plan));
      }
      const std::vector<UnmeasuredProblem> missing = unmeasured_problems(estimator, plans);
      REQUIRE(!missing.empty());
      for (std::size_t i = 1; i < missing.size(); ++i) REQUIRE(missing[i - 1].time >= missing[i].time);
      for (const UnmeasuredProblem& each : missing) simulant.measure_line(each.line);
    }
    const Study study(spec());
    const Estimator estimator(study.job());
    CHECK(unmeasured_problems(estimator, plans).empty());
    for (const Estimate& plan : plans) CHECK(kernel_time_shares(explain(estimator, plan.plan))[0] == 1.0);
  }
}

TEST_CASE("the serial plan takes the time of the measured whole step") {
  const Model model = load_model("alexnet");
  const auto steps = [&](double forward, double backward) {
    Simulant simulant("alexnet");
    simulant.measure_all(problems_of(model, 4, Precision::fp32, Optimizer::momentum));
    simulant.add_step(model, 4, StepPart::forward, Seconds(forward));
    simulant.add_step(model, 4, StepPart::backward, Seconds(backward));
    const Study study(simulant.spec());
    return Estimator(study.job()).estimate(serial(4)).time;
  };
  // The measured steps take longer than the sum of the kernels, or shorter.
  const Breakdown slow = steps(1.0, 1.0);
  CHECK(slow[Part::forward].value() == Approx(1.0));
  CHECK(slow[Part::backward].value() == Approx(1.0));
  const Breakdown quick = steps(1e-6, 2e-6);
  CHECK(quick[Part::forward].value() == Approx(1e-6));
  CHECK(quick[Part::backward].value() == Approx(2e-6));
}

TEST_CASE("a whole step of another model gives the launch overhead") {
  const Model model = load_model("alexnet");
  Simulant simulant("alexnet");
  simulant.measure_all(problems_of(model, 4, Precision::fp32, Optimizer::momentum));
  simulant.add_step(model, 4, StepPart::forward, Seconds(1.0));
  StudySpec spec = simulant.spec();
  spec.model = "vgg11";
  const Study study(spec);
  const Explanation explanation = explain(Estimator(study.job()), serial(4));
  // Almost all of the second is the launch overhead of AlexNet's 22 kernels. VGG-11 has more kernels.
  CHECK(explanation.estimate.time[Part::forward].value() > 1.0);
  for (const TimedKernel& kernel : explanation.layers.front().detail.kernels) {
    if (kernel.pass == "overhead") CHECK(kernel.source == Provenance::curve);
  }
}

/// Returns a profile of AlexNet's kernels on four samples, and of some parts of a step.
Simulant alexnet() {
  Simulant simulant("alexnet");
  simulant.measure_all(problems_of(load_model("alexnet"), 4, Precision::fp32, Optimizer::momentum));
  return simulant;
}
Explanation step_of(const StudySpec& spec) {
  const Study study(spec);
  return explain(Estimator(study.job()), serial(4));
}
Seconds extra_time(const Explanation& explanation, std::string_view what, Phase phase) {
  Seconds sum{};
  for (const LayerExplanation& layer : explanation.layers) {
    for (const TimedKernel& kernel : layer.detail.kernels) {
      if (kernel.pass == what && kernel.phase == phase) sum += kernel.time;
    }
  }
  return sum;
}
/// First touches of gradients of all 61,100,840 weights and biases (PyTorch's count of
/// torchvision's alexnet), at 2 GB/s. No other tensor has 32 MiB.
constexpr double alexnet_touches = 61'100'840.0 * 4 / 2e9;

TEST_CASE("first touches of memory count only in the phase that makes them") {
  Simulant simulant = alexnet();
  const Explanation without = step_of(simulant.spec());
  simulant.measure_line("fresh_memory bytes=1000000");
  const Explanation with = step_of(simulant.spec());
  const Breakdown& before = without.estimate.time;
  const Breakdown& after = with.estimate.time;
  CHECK(after[Part::forward].value() == before[Part::forward].value());
  CHECK(after[Part::weight_update].value() == before[Part::weight_update].value());
  CHECK((after[Part::backward] - before[Part::backward]).value() == Approx(alexnet_touches));
  CHECK(extra_time(with, "fresh-memory", Phase::backward).value() == Approx(alexnet_touches));
  CHECK(extra_time(without, "fresh-memory", Phase::backward).value() == 0);
  // First touches are not kernels, but they are part of the layers' times.
  CHECK(kernel_time_shares(with)[0] == 1.0);
  Seconds kernels{};
  for (const LayerExplanation& layer : with.layers) {
    for (const TimedKernel& kernel : layer.detail.kernels) kernels += kernel.time;
  }
  CHECK(kernels.value() == Approx((after[Part::forward] + after[Part::backward]).value()));
  // VGG-11 has more first touches.
  StudySpec other = simulant.spec();
  other.model = "vgg11";
  CHECK(extra_time(step_of(other), "fresh-memory", Phase::backward) > extra_time(with, "fresh-memory", Phase::backward));
}

TEST_CASE("a framework's steps replace the profiler's, less their first touches") {
  const Model model = load_model("alexnet");
  Simulant simulant = alexnet();
  simulant.add_step(model, 4, StepPart::forward, Seconds(5.0));
  simulant.add_step(model, 4, StepPart::backward, Seconds(5.0));
  simulant.add_step(model, 4, StepPart::update, Seconds(5.0));
  simulant.measure_line("fresh_memory bytes=1000000");
  Simulant steps("alexnet");
  steps.add_step(model, 4, StepPart::forward, Seconds(1.0), "torch-1");
  steps.add_step(model, 4, StepPart::backward, Seconds(2.0), "torch-1");
  steps.add_step(model, 4, StepPart::update, Seconds(0.5), "torch-1");

  for (const auto& profiles :
       {std::vector{simulant.profile(), steps.profile()}, std::vector{steps.profile(), simulant.profile()}}) {
    const StudySpec spec = Simulant::spec_of(profiles);
    const Explanation explanation = step_of(spec);
    const Breakdown& time = explanation.estimate.time;
    CHECK(time[Part::forward].value() == Approx(1.0));
    CHECK(time[Part::backward].value() == Approx(2.0));
    CHECK(time[Part::weight_update].value() == Approx(0.5));
    CHECK(extra_time(explanation, "fresh-memory", Phase::backward).value() == Approx(alexnet_touches));
    const MeasuredKernels measured = measured_kernels(spec.found_profiles->profiles, model, Precision::fp32);
    CHECK(measured.steps == "whole steps of alexnet by torch-1");
    CHECK(measured.same_model);
    CHECK(measured.name == "alexnet on simulated device (simulated)");
  }
  // Without the kernels, the steps have no effect.
  CHECK(measured_kernels(std::vector<FoundProfile>{{"steps", steps.profile()}}, model, Precision::fp32).steps.empty());
}

TEST_CASE("a framework's overhead per kernel applies to other models, too") {
  Simulant simulant = alexnet();
  simulant.measure_line("fresh_memory bytes=1000000");
  const double forward = step_of(simulant.spec()).estimate.time[Part::forward].value();
  // AlexNet has 21 forward kernels that take time: 5 convolutions, 7 activations, 3 poolings, 3 products, 2 dropouts, a
  // loss.
  Simulant steps("alexnet");
  steps.add_step(load_model("alexnet"), 4, StepPart::forward, Seconds(forward + 22 * 10e-6), "torch-1");
  StudySpec spec = Simulant::spec_of({simulant.profile(), steps.profile()});
  const MeasuredKernels measured = measured_kernels(spec.found_profiles->profiles, load_model("vgg11"), Precision::fp32);
  CHECK_FALSE(measured.same_model);
  CHECK(measured.forward.per_kernel.value() == Approx(10e-6));
  spec.model = "vgg11";
  const Explanation explanation = step_of(spec);
  double kernels = 0;
  for (const LayerExplanation& layer : explanation.layers) {
    for (const TimedKernel& kernel : layer.detail.kernels) {
      if (kernel.pass == "overhead") CHECK(kernel.source == Provenance::curve);
      if (kernel.phase == Phase::forward && !kernel.is_overhead() && kernel.time.value() > 0) kernels += 1;
    }
  }
  CHECK(extra_time(explanation, "overhead", Phase::forward).value() == Approx(kernels * 10e-6));
}

TEST_CASE("a framework that keeps its memory has no first touches") {
  const Model model = load_model("alexnet");
  Simulant simulant = alexnet();
  simulant.measure_line("fresh_memory bytes=1000000");
  Simulant steps("alexnet");
  steps.add_step(model, 4, StepPart::backward, Seconds(2.0), "torch-1", true);
  const Explanation kept = step_of(Simulant::spec_of({simulant.profile(), steps.profile()}));
  CHECK(kept.estimate.time[Part::backward].value() == Approx(2.0));
  CHECK(extra_time(kept, "fresh-memory", Phase::backward).value() == 0);
  // If there are steps with and without returned memory, the steps that return memory are used.
  steps.add_step(model, 4, StepPart::backward, Seconds(3.0), "torch-1");
  const Explanation both = step_of(Simulant::spec_of({simulant.profile(), steps.profile()}));
  CHECK(both.estimate.time[Part::backward].value() == Approx(3.0));
  CHECK(extra_time(both, "fresh-memory", Phase::backward).value() == Approx(alexnet_touches));
}

TEST_CASE("steps of CUDA graphs are used only if no eager steps were measured") {
  const Model model = load_model("alexnet");
  Simulant simulant = alexnet();
  Simulant steps("alexnet");
  steps.add_step(model, 4, StepPart::backward, Seconds(1.5), "torch-1", true, true);
  const auto backward = [&] {
    return step_of(Simulant::spec_of({simulant.profile(), steps.profile()})).estimate.time[Part::backward].value();
  };
  CHECK(backward() == Approx(1.5));
  steps.add_step(model, 4, StepPart::backward, Seconds(2.0), "torch-1", true);
  CHECK(backward() == Approx(2.0));
}

TEST_CASE("a row that failed is not measured") {
  Simulant simulant("alexnet");
  simulant.measure_all(problems_of(load_model("alexnet"), 4, Precision::fp32, Optimizer::momentum));
  Profile profile = simulant.profile();
  const std::vector<FoundProfile> whole{{"whole", profile}};
  profile.rows.front().measurement.reason = "out of memory";
  const std::vector<FoundProfile> part{{"part", profile}};
  const Model model = load_model("alexnet");
  CHECK(measured_kernels(part, model, Precision::fp32).kernels.size() + 1 ==
        measured_kernels(whole, model, Precision::fp32).kernels.size());
}

TEST_CASE("a device has the names in its datasheet and in its drivers") {
  Device device;
  device.name = "Maker M1";
  device.profile_names = {"Maker M1-SXM4-80GB"};
  CHECK(is_device(device, "Maker M1"));
  CHECK(is_device(device, "maker m1-sxm4-80gb"));
  CHECK_FALSE(is_device(device, "Maker M1-SXM4"));
  CHECK_FALSE(is_device(device, ""));
}

}  // namespace

}  // namespace profile_times_tests
