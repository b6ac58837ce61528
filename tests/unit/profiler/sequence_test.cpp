#include "profiler/measurement/sequence.hpp"

#include "model_zoo/files/load_model.hpp"
#include "profiler/backends/simulated/backend.hpp"
#include "profiler/measurement/problems.hpp"
#include "profiler/profiles/profiling.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

using namespace ddl;

namespace {

const SimulatedDevice quiet{FlopRate(1e12), Bandwidth(100e9), Seconds(1e-6), 0, 1};

ProfilePlan plan_of(const Model& model, const std::vector<std::int64_t>& samples) {
  ProfilePlan plan{.model = model, .sequences = samples};
  for (const std::int64_t each : samples) {
    for (CountedProblem& problem : problems_of(model, each, plan.precision, plan.optimizer))
      plan.problems.push_back(problem);
  }
  return plan;
}

Profile profile_of(KernelBackend& backend, const ProfilePlan& plan) {
  Profiling profiling(backend, plan);
  Profile profile;
  for (std::size_t item = 0; item < plan.items(); ++item) {
    const std::optional<ProfileRow> row = profiling.measure_item(item);
    REQUIRE(row);
    CHECK(row->measurement.problem == plan.line(item));
    profile.rows.push_back(*row);
  }
  return profile;
}

}  // namespace

TEST_CASE("the time of a whole model's step is the sum of its problems if there is no other work") {
  const auto backend = make_simulated_backend(quiet);
  // These models have a chain, residual branches, dense concatenations and a tied embedding.
  for (const std::string name : {"vgg16", "resnet50", "densenet121", "gpt2"}) {
    INFO(name);
    const Model model = load_model(name);
    const std::vector<SumCheck> found = sum_checks(profile_of(*backend, plan_of(model, {1, 3})), model);
    REQUIRE(found.size() == 2);
    CHECK(found[0].samples == 1);
    CHECK(found[1].samples == 3);
    for (const SumCheck& sum_check : found) CHECK(sum_check.error() == Approx(0).margin(1e-9));
  }
}

TEST_CASE("a step that lacks a problem has no check of the sum") {
  const auto backend = make_simulated_backend(quiet);
  const Model model = model_of("{features: 4}", "  - fully_connected: {features: 4, bias: no}\n  - activation: relu\n");
  Profile profile = profile_of(*backend, plan_of(model, {2}));
  CHECK(sum_checks(profile, model).size() == 1);
  profile.rows.erase(profile.rows.begin());
  CHECK(sum_checks(profile, model).empty());
}

TEST_CASE("reading the printed line of a step returns the same step") {
  for (const StepPart part : {StepPart::forward, StepPart::backward, StepPart::update}) {
    const SequenceProblem problem{"vgg16", 32, Precision::bf16, Optimizer::adam, part};
    const std::string line = print_problem(problem);
    CHECK(is_sequence_problem(line));
    CHECK(print_problem(parse_sequence_problem(line, "x")) == line);
  }
  const auto error = [](const std::string& line) {
    return error_of([&] { static_cast<void>(parse_sequence_problem(line, "x")); });
  };
  CHECK_THAT(error("sequence model=a samples=0 precision=fp32 optimizer=sgd pass=forward"), ContainsSubstring("x:1:26"));
  CHECK_THAT(error("sequence model=a samples=1 precision=fp31 optimizer=sgd pass=forward"),
             ContainsSubstring("unknown 'fp31'"));
  CHECK_THAT(error("sequence model=a samples=1 precision=fp32 optimizer=sgd pass=sideways"), ContainsSubstring("sideways"));
  CHECK_THAT(error("sequence samples=1"), ContainsSubstring("expected model="));
  CHECK_THAT(error("sequence "), ContainsSubstring("expected model="));
}

TEST_CASE("the line of a framework's step names the framework") {
  SequenceProblem problem{"vgg16", 32, Precision::fp32, Optimizer::sgd, StepPart::backward, "pytorch-1.13.1"};
  CHECK(print_problem(problem) ==
        "sequence model=vgg16 samples=32 precision=fp32 optimizer=sgd pass=backward by=pytorch-1.13.1");
  problem.keeps_memory = true;
  const std::string line = print_problem(problem);
  CHECK(line.ends_with(" by=pytorch-1.13.1 memory=kept"));
  const SequenceProblem read = parse_sequence_problem(line, "x");
  CHECK(print_problem(read) == line);
  CHECK(read.keeps_memory);
  CHECK(read.by == "pytorch-1.13.1");
  CHECK_FALSE(read.graph);
  problem.graph = true;
  const std::string graph = print_problem(problem);
  CHECK(graph.ends_with(" by=pytorch-1.13.1 launch=graph memory=kept"));
  CHECK(parse_sequence_problem(graph, "x").graph);
  CHECK(print_problem(parse_sequence_problem(graph, "x")) == graph);
  const auto error = [](const std::string& end) {
    const std::string start = "sequence model=a samples=1 precision=fp32 optimizer=sgd pass=forward ";
    return error_of([&] { static_cast<void>(parse_sequence_problem(start + end, "x")); });
  };
  CHECK_THAT(error("for=me"), ContainsSubstring("x:1:70: expected by="));
  CHECK_THAT(error("by= memory=kept"), ContainsSubstring("x:1:73: the framework is missing"));
  CHECK_THAT(error("by=me memory=lost"), ContainsSubstring("x:1:83: unknown 'lost'"));
  CHECK_THAT(error("by=me launch=rocket"), ContainsSubstring("x:1:83: unknown 'rocket'"));
  CHECK_THAT(error("by=me memory=kept launch=graph"), ContainsSubstring("x:1:88: unknown 'launch=graph'"));
  CHECK_THAT(error("by=me memory=kept more"), ContainsSubstring("x:1:88: unknown 'more'"));
}

TEST_CASE("steps of a framework are not used to check the sum") {
  const auto backend = make_simulated_backend(quiet);
  const Model model = model_of("{features: 4}", "  - fully_connected: {features: 4, bias: no}\n  - activation: relu\n");
  Profile profile = profile_of(*backend, plan_of(model, {2}));
  const double error = sum_checks(profile, model).front().error();
  for (ProfileRow row : std::vector(profile.rows)) {
    if (!is_sequence_problem(row.measurement.problem)) continue;
    row.measurement.problem += " by=me";
    row.measurement.samples = summarize({1, 1, 1, 1, 1, 1}, {});
    profile.rows.push_back(row);
  }
  REQUIRE(sum_checks(profile, model).size() == 1);
  CHECK(sum_checks(profile, model).front().error() == error);
}

TEST_CASE("times are corrected to full speed if the device was temporarily slower") {
  Profile profile;
  for (int i = 0; i < 20; ++i) {
    ProfileRow row{.measurement = {.samples = summarize({2, 2, 2, 2, 2, 2}, {})}};
    row.reference_kernel = Seconds(i < 10 ? 1e-3 : 2e-3);
    if (i < 10) row.measurement.samples = summarize({1, 1, 1, 1, 1, 1}, {});
    profile.rows.push_back(row);
  }
  for (const ProfileRow& row : at_full_speed(profile).rows) {
    CHECK(row.measurement.samples.median.value() == Approx(1));
    CHECK(row.measurement.samples.high.value() == Approx(1));
  }
  const Steadiness steadiness = steadiness_of(profile);
  CHECK(steadiness.slowest == Approx(2));
  CHECK(steadiness.slow_share == Approx(0.5));
  // Without readings of the reference kernel, the profile is not changed.
  for (ProfileRow& row : profile.rows) row.reference_kernel = Seconds{};
  CHECK(at_full_speed(profile).rows.back().measurement.samples.median.value() == 2);
  CHECK(steadiness_of(profile).slow_share == 0);
}

TEST_CASE("a refused problem has a row with the reason") {
  class Refusing final : public KernelBackend {
   public:
    DeviceInfo info() const override { return inner_->info(); }
    std::string refusal(const Problem& problem) const override {
      return problem.operation->type() == "activation" ? "no activations" : "";
    }
    std::string refusal(const UpdateProblem& /*problem*/) const override { return {}; }
    std::unique_ptr<PreparedKernel> prepare(const Problem& problem) override { return inner_->prepare(problem); }
    std::unique_ptr<PreparedKernel> prepare(const UpdateProblem& problem) override { return inner_->prepare(problem); }
    std::unique_ptr<DeviceBuffer> allocate(std::int64_t items, Precision precision) override {
      return inner_->allocate(items, precision);
    }
    Seconds time(const std::function<void()>& work) override { return inner_->time(work); }
    void evict(std::span<DeviceBuffer* const> /*buffers*/) override {}
    void touch(DeviceBuffer& /*buffer*/) override {}

   private:
    std::unique_ptr<KernelBackend> inner_ = make_simulated_backend(quiet);
  };
  Refusing backend;
  const Model model = model_of("{features: 4}", "  - fully_connected: {features: 4, bias: no}\n  - activation: relu\n");
  const Profile profile = profile_of(backend, plan_of(model, {1}));
  int refused = 0;
  for (const ProfileRow& row : profile.rows) refused += row.measurement.reason == "no activations" ? 1 : 0;
  // Five problems are refused: forward and backward of the activation, and the three parts of the step, which need it.
  CHECK(refused == 5);
  CHECK(sum_checks(profile, model).empty());
}

TEST_CASE("the line of a captured step states the capture, for any framework") {
  SequenceProblem problem{"vgg16", 32, Precision::bf16, Optimizer::sgd, StepPart::forward, {}, false, true};
  const std::string line = print_problem(problem);
  CHECK(line == "sequence model=vgg16 samples=32 precision=bf16 optimizer=sgd pass=forward launch=graph");
  CHECK(parse_sequence_problem(line, "x").graph);
  CHECK(parse_sequence_problem(line, "x").by.empty());
  problem.by = "pytorch-2.11.0";
  CHECK(print_problem(parse_sequence_problem(print_problem(problem), "x")) == print_problem(problem));
  CHECK_THAT(error_of([&] { static_cast<void>(parse_sequence_problem(line + " memory=kept", "x")); }),
             ContainsSubstring("unknown 'memory=kept'"));
}

TEST_CASE("if a back end cannot capture a step, the rows of the step give the reason") {
  const auto backend = make_simulated_backend(quiet);
  const Model model = model_of("{features: 4}", "  - fully_connected: {features: 4, bias: no}\n");
  ProfilePlan plan = plan_of(model, {1});
  plan.step_start = StepStart::graph;
  int refused = 0;
  for (const ProfileRow& row : profile_of(*backend, plan).rows) {
    refused += row.measurement.reason.find("cannot record a step") != std::string::npos ? 1 : 0;
  }
  CHECK(refused == 3);
}
