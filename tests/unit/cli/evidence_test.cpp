#include "cli/documents/evidence.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "estimator/explain/explanation.hpp"
#include "estimator/step/step_sensitivity.hpp"
#include "tests/catch.hpp"

namespace {

using namespace ddl;

StudySpec spec_of(const std::string& model, const std::string& machine) {
  StudySpec spec;
  spec.model = model;
  spec.machine = machine;
  return spec;
}

}  // namespace

TEST_CASE("measured runs on devices of other makers are not like a plan") {
  const std::vector<Evidence> evidence{
      {ModelClass::transformer, PrecisionClass::full, "megatron-core", "NVIDIA A100 SXM4 80 GB", 1000, 0.1},
      {ModelClass::transformer, PrecisionClass::full, "nemo", "AMD Instinct MI300X", 8, 0.3}};
  const auto estimate_of = [](ModelClass model_class) {
    TimeSensitivity time;
    time.model_class = model_class;
    time.software = "megatron-core";
    Estimate estimate;
    estimate.sensitivity = std::make_shared<const TimeSensitivity>(std::move(time));
    return estimate;
  };
  const Study frontier(spec_of("gpt2", "frontier"));
  const std::vector<AlikeRuns> alike = alike_runs(frontier, estimate_of(ModelClass::transformer), evidence);
  REQUIRE(alike.size() == 1);
  CHECK(alike.front().runs == 8);
  CHECK(alike.front().error == Approx(0.3));
  // No run of an AMD device is one of a convolutional network.
  CHECK(alike_runs(frontier, estimate_of(ModelClass::convolutional), evidence).empty());
  CHECK(evidence_text({}, false) == "no measured run is similar");
  // NVIDIA's devices resemble each other.
  const Study h100(spec_of("gpt2", "dgx-h100"));
  const std::vector<AlikeRuns> of_h100 = alike_runs(h100, estimate_of(ModelClass::transformer), evidence);
  REQUIRE_FALSE(of_h100.empty());
  CHECK(of_h100.front().runs == 1000);
}

TEST_CASE("measured runs of another precision are not like a plan") {
  const std::string software = "megatron-core", h100 = "NVIDIA H100 SXM5 80 GB";
  const std::vector<Evidence> evidence{
      {ModelClass::transformer, PrecisionClass::full, software, h100, 90, 0.1},
      {ModelClass::transformer, PrecisionClass::half, "nemo", "NVIDIA A100 SXM4 80 GB", 7, 0.2}};
  const Study study(spec_of("gpt2", "dgx-h100"));
  const auto alike_in = [&](Precision precision) {
    TimeSensitivity time;
    time.model_class = ModelClass::transformer;
    time.software = software;
    Estimate estimate;
    estimate.plan.precision = precision;
    estimate.sensitivity = std::make_shared<const TimeSensitivity>(std::move(time));
    return alike_runs(study, estimate, evidence);
  };
  for (const Precision full : {Precision::fp32, Precision::tf32}) {
    REQUIRE_FALSE(alike_in(full).empty());
    CHECK(alike_in(full).front().runs == 90);
  }
  for (const Precision half : {Precision::fp16, Precision::bf16}) {
    REQUIRE(alike_in(half).size() == 1);
    CHECK(alike_in(half).front().runs == 7);
    CHECK(evidence_text(alike_in(half), false) == "7 similar measured runs (transformers in fp16 or bf16) were 20 % off");
    CHECK(evidence_text(alike_in(half), false, Detail::in_short) == "7 similar measured runs were 20 % off");
  }
  // No run has products of 8 bits. The runs of other precisions are shown as such.
  REQUIRE_FALSE(alike_in(Precision::fp8).empty());
  CHECK(alike_in(Precision::fp8).front().other_precision);
  CHECK(evidence_text(alike_in(Precision::fp8), false) ==
        "no measured run has this precision; 90 similar runs (transformers in other precisions, megatron-core, NVIDIA "
        "H100 SXM5 80 GB) were 10 % off");
}

TEST_CASE("a network with attention within windows is compared with runs of transformers") {
  const auto class_of = [](const char* model) {
    const Study study(spec_of(model, "dgx-a100"));
    const Estimator estimator(study.job());
    Plan plan;
    plan.global_batch = 8;
    plan.precision = study.precision();
    plan.optimizer = study.optimizer();
    return sensitivity(estimator, plan).model_class;
  };
  for (const char* model : {"sam-vit-b", "swin_b", "swinv2_base_window8_256", "vit_b_16"}) {
    INFO(model);
    CHECK(class_of(model) == ModelClass::transformer);
  }
  CHECK(class_of("resnet50") == ModelClass::convolutional);
  CHECK(class_of("convnext_base") == ModelClass::convolutional);
}

TEST_CASE("a source of error needs at least the factor of the step, and an exchange not more than fills the step") {
  const Study study(spec_of("vgg16", "dgx-a100"));
  const Estimator estimator(study.job());
  Plan plan;
  plan.mesh.set(Axis::data, 8);
  plan.global_batch = 256;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  const Explanation explained = explain(estimator, plan);
  const Seconds step = explained.estimate.time.step_time();
  Seconds exchange{};  // the only exchange of data parallelism is that of gradients
  for (const ExchangeTotal& each : explained.exchanges) exchange += each.time;
  for (const double ratio : {1.2, 2.0, 5.0, 0.8}) {
    INFO(ratio);
    bool has_kernels = false, has_exchange = false;
    for (const SourceFactor& each : factors_for(estimator, plan, ratio)) {
      INFO(error_source_names[static_cast<std::size_t>(each.source)]);
      // All other times stay the same, so the source has to change by at least as much as their sum with it.
      CHECK((ratio > 1 ? each.factor > 0.999 * ratio : each.factor < 1.001 * ratio));
      has_kernels = has_kernels || each.source == ErrorSource::memory_kernels;
      if (each.source != ErrorSource::gradient_exchange) continue;
      has_exchange = true;
      CHECK(each.factor * exchange < 1.01 * ratio * step);
    }
    CHECK(has_kernels);
    if (ratio > 1) CHECK(has_exchange);
  }
  // No source alone makes a step longer by more than its largest factor.
  CHECK(factors_for(estimator, plan, 1.01 * most_source_factor).empty());
}

TEST_CASE("a model that was measured in one precision has the same scale in another one") {
  StudySpec spec = spec_of("resnet50", "abci");
  spec.precision = Precision::fp32;
  const double full = Study(spec).kernels().scale();
  CHECK(full != Approx(1).epsilon(0.05));
  spec.precision = Precision::fp16;
  const Study half(spec);
  CHECK(half.kernels().scale() == Approx(full));
  CHECK(half.kernels().origin() == KernelBasis::device_scale);
}
