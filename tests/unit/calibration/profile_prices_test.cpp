#include "calibration/profile_prices.hpp"

#include <memory>
#include <string>
#include <vector>

#include "calibration/study.hpp"
#include "estimator/shard_problems.hpp"
#include "estimator/unmeasured.hpp"
#include "profiler/backends/simulated/backend.hpp"
#include "profiler/problems.hpp"
#include "profiler/sequence.hpp"
#include "tests/catch.hpp"

namespace {

using namespace ddl;

/// Measures on a device without noise: twice as slow as a roofline of its figures, and 5 us to start a kernel.
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
  void add_step(const Model& model, std::int64_t samples, StepPart part, Seconds time) {
    Measurement whole;
    whole.problem = print_problem(SequenceProblem{model.name, samples, Precision::fp32, Optimizer::momentum, part});
    whole.samples.median = whole.samples.low = whole.samples.high = time;
    profile_.rows.push_back({whole, 0});
  }
  [[nodiscard]] StudySpec spec() const {
    FoundProfiles found;
    found.profiles.push_back({"simulated.profile", profile_});
    StudySpec spec;
    spec.model = profile_.head.model;
    spec.found_profiles = std::make_shared<const FoundProfiles>(std::move(found));
    return spec;
  }
  [[nodiscard]] const Profile& profile() const { return profile_; }

 private:
  std::unique_ptr<KernelBackend> backend_ =
      make_simulated_backend({.peak = FlopRate(5e12), .bandwidth = Bandwidth(500e9), .noise = 0});
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
  const Explanation explanation = Estimator(study.job()).explain(serial(4));
  CHECK(explanation.estimate.time.compute().value() == Approx(sum));
  CHECK(kernel_time_shares(explanation)[0] == 1.0);
  CHECK(study.kernels().reference_batch() == 4);
  CHECK(unmeasured_problems(Estimator(study.job()), {explanation.estimate}).empty());
}

TEST_CASE("once what plans miss is measured nothing is missing") {
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
      plan.data = 2;
      plan.tensor = 2;
      plans.push_back(estimator.estimate(plan));
      plan.tensor = 1;
      plan.filter = plan.channel = 2;
      plan.zero_stage = 1;
      plans.push_back(estimator.estimate(plan));
      if (!model.input.sequence) {
        plan.filter = plan.channel = 1;
        plan.spatial = {1, 2, 1};
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
    for (const Estimate& plan : plans) CHECK(kernel_time_shares(estimator.explain(plan.plan))[0] == 1.0);
  }
}

TEST_CASE("a step that was timed as a whole is what the serial plan takes") {
  const Model model = load_model("alexnet");
  const auto steps = [&](double forward, double backward) {
    Simulant simulant("alexnet");
    simulant.measure_all(problems_of(model, 4, Precision::fp32, Optimizer::momentum));
    simulant.add_step(model, 4, StepPart::forward, Seconds(forward));
    simulant.add_step(model, 4, StepPart::backward, Seconds(backward));
    const Study study(simulant.spec());
    return Estimator(study.job()).estimate(serial(4)).time;
  };
  // Longer than the kernels' sum and shorter, in turn.
  const Breakdown slow = steps(1.0, 1.0);
  CHECK(slow.forward.value() == Approx(1.0));
  CHECK(slow.backward.value() == Approx(1.0));
  const Breakdown quick = steps(1e-6, 2e-6);
  CHECK(quick.forward.value() == Approx(1e-6));
  CHECK(quick.backward.value() == Approx(2e-6));
}

TEST_CASE("of another model the whole step says what starting kernels takes") {
  const Model model = load_model("alexnet");
  Simulant simulant("alexnet");
  simulant.measure_all(problems_of(model, 4, Precision::fp32, Optimizer::momentum));
  simulant.add_step(model, 4, StepPart::forward, Seconds(1.0));
  StudySpec spec = simulant.spec();
  spec.model = "vgg11";
  const Study study(spec);
  const Explanation explanation = Estimator(study.job()).explain(serial(4));
  // Nearly all of the second is starting AlexNet's 22 kernels, and VGG-11 has more of them.
  CHECK(explanation.estimate.time.forward.value() > 1.0);
  for (const PricedKernel& kernel : explanation.layers.front().prices.kernels) {
    if (kernel.pass == "overhead") CHECK(kernel.source == PriceSource::curve);
  }
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

TEST_CASE("a device has the names that its sheet and its drivers call it") {
  Device device;
  device.name = "Maker M1";
  device.profile_names = {"Maker M1-SXM4-80GB"};
  CHECK(is_device(device, "Maker M1"));
  CHECK(is_device(device, "maker m1-sxm4-80gb"));
  CHECK_FALSE(is_device(device, "Maker M1-SXM4"));
  CHECK_FALSE(is_device(device, ""));
}

}  // namespace
