#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/sentences/sentences.hpp"
#include "estimator/search/memory_bounds.hpp"
#include "estimator/search/time_bounds.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"

namespace bundled_models_tests {

using namespace ddl;

// The tests check properties of every model of the zoo.

namespace {

/// Returns plans of two ranks along one axis; a spatial split is along the first extent.
std::vector<Plan> plans_of_two(bool has_extents) {
  std::vector<Plan> plans;
  for (Axis axis : {Axis::data, Axis::filter, Axis::channel, Axis::tensor, Axis::pipeline}) {
    Plan plan;
    plan.mesh.set(axis, 2);
    plans.push_back(plan);
  }
  if (has_extents) {
    Plan plan;
    plan.mesh.set_tiles({2, 1, 1});
    plans.push_back(plan);
  }
  for (Plan& plan : plans) plan.global_batch = 2;
  return plans;
}

/// Returns whether a model has attention with one head of keys and values, which cannot be split by heads.
bool has_one_kv_head(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const Layer& layer) {
    return layer.operation->type() == "attention" && layer.operation->attribute_values().integer("kv_heads", 0) == 1;
  });
}

}  // namespace

TEST_CASE("every bundled model can be split in two along each of its axes, with a finite time") {
  for (const std::string& name : model_names()) {
    StudySpec spec;
    spec.model = name;
    const Study study(spec);
    const Estimator estimator(study.job());
    const TimeBounds bounds(estimator);
    const TensorShape& input = study.model().input;
    for (Plan plan : plans_of_two(input.rank > 0 && !input.sequence)) {
      plan.precision = study.precision();
      plan.optimizer = study.optimizer();
      INFO(name << ": " << degrees_text(plan.mesh));
      const Estimate estimate = estimator.estimate(plan);
      if (plan.mesh[Axis::tensor] > 1 && has_one_kv_head(study.model())) {
        CHECK(std::any_of(estimate.limits.begin(), estimate.limits.end(),
                          [](const Limit& limit) { return limit.kind == Limit::Kind::tensor_units; }));
        continue;
      }
      // A convolution with a single filter or channel cannot be split, either. A vision model that first processes a
      // vector, such as the embedding of a diffusion's time step, has no spatial split.
      const auto is_of_one = [](const Limit& limit) {
        return limit.available == 1 && (limit.kind == Limit::Kind::filters || limit.kind == Limit::Kind::channels ||
                                        limit.kind == Limit::Kind::tensor_units || limit.kind == Limit::Kind::extent);
      };
      if (std::any_of(estimate.limits.begin(), estimate.limits.end(), is_of_one)) continue;
      for (const Limit& limit : estimate.limits) {
        INFO(describe(limit, study.model()));
        CHECK(limit.kind == Limit::Kind::memory);
      }
      const double seconds = estimate.time.step_time().value();
      CHECK(std::isfinite(seconds));
      CHECK(seconds > 0);
      CHECK(estimate.efficiency > 0);
      CHECK(estimate.efficiency <= 1 + 1e-9);  // two devices are at most twice as fast
      CHECK(std::isfinite(estimate.memory.total().value()));
      CHECK(bounds.least(Closeness::degrees, plan).value() <= seconds * (1 + 1e-9));
      CHECK(memory_lower_bound(estimator.job(), plan) <= estimate.memory.total());
    }
  }
}

TEST_CASE("the default data set has the channels of the model, if a bundled data set has these channels") {
  for (const auto& [model, dataset] : {std::pair{"resnet50", "imagenet"},
                                       {"inception_v3", "imagenet"},
                                       {"cosmoflow-128", "cosmoflow"},
                                       {"unet3d", "kits19"},
                                       {"deepcam", "deepcam"},
                                       {"gpt2", "openwebtext"}}) {
    CHECK(default_dataset(load_model(model)) == dataset);
  }
}

TEST_CASE("an epoch is known of a data set with the model's input, of text, and of images to classify") {
  const auto is_known = [](const char* name) {
    const Model model = load_model(name);
    return is_of_task(load_dataset(default_dataset(model)), model);
  };
  for (const char* name : {"resnet50", "inception_v3", "efficientnet_l2", "cosmoflow-512", "unet3d", "deepcam", "gpt2",
                           "llama3-8b", "mixtral-8x7b"}) {
    INFO(name);
    CHECK(is_known(name));
  }
  // These models have the number of channels of a data set for another task.
  for (const char* name : {"cosmoflow-mlperf", "whisper-base", "sd-1.5", "wan2.1-1.3b", "graphcast", "unet"}) {
    INFO(name);
    CHECK_FALSE(is_known(name));
  }
}

TEST_CASE("a model that no bundled data set trains has an unknown one, which neither names nor limits anything") {
  const auto data_of = [](const char* name) { return dataset_of("", load_model(name)); };
  for (const char* name : {"whisper-small", "flux.1-dev", "wan2.1-1.3b", "sd-1.5", "unet3d-brats"}) {
    INFO(name);
    const Dataset data = data_of(name);
    CHECK(data.name == unknown_dataset);
    CHECK(data.sample == load_model(name).input);
    CHECK(data.samples >= 1'000'000);  // CosmoFlow's 1,584 cubes limited the batch of a video model
    CHECK(data.size_on_disk == Bytes{});
  }
  CHECK(data_of("deepcam").name == "deepcam");
  CHECK(data_of("cosmoflow-128").name == "cosmoflow");  // cubes of another size
  CHECK(data_of("resnet50").name == "imagenet");
  CHECK(data_of("llama3-8b").name == "openwebtext");
  CHECK(dataset_of("cosmoflow", load_model("cosmoflow-128")).name == "cosmoflow");
}

TEST_CASE("a U-Net keeps its tiles from the first layer to the loss") {
  for (const auto& [name, split] : {std::pair{"unet3d", std::array<int, 3>{2, 2, 2}},
                                    {"unet3d", {4, 4, 4}},
                                    {"unet", {2, 2, 1}},
                                    {"deepcam", {2, 2, 1}},
                                    {"deepcam", {2, 4, 1}}}) {
    StudySpec spec;
    spec.model = name;
    // The machine is a CPU cluster, because kernels of a GPU lose efficiency at smaller sizes, which is not tested here.
    spec.machine = "cpu-cluster";
    const Study study(spec);
    Plan plan;
    plan.mesh.set_tiles(split);
    plan.global_batch = 1;
    INFO(name << ": " << degrees_text(plan.mesh));
    Plan serial;
    const Estimator estimator(study.job());
    const Estimate tiled = estimator.estimate(plan);
    const Estimate whole = estimator.estimate(serial);
    CHECK(tiled.feasible());
    // No large layer is replicated, in compute or memory.
    CHECK(tiled.replicated_share < 0.1);
    CHECK(tiled.memory.activations.value() < 1.5 / plan.mesh[Axis::spatial] * whole.memory.activations.value());
  }
}

}  // namespace bundled_models_tests
