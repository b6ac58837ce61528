// Fuzzes a model file: the file is parsed, the model's graph is analyzed, and a few plans are estimated.

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"
#include "cli/documents/model_drawing.hpp"
#include "cli/report/figures.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/network/series_parallel.hpp"
#include "model_zoo/network/work_depth.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"
#include "tests/owned_job.hpp"

namespace ddl {
namespace {

/// Returns one plan for each way of dividing layers.
std::vector<Plan> plans() {
  std::vector<Plan> plans(4);
  plans[1].mesh.set(Axis::data, 2);
  plans[1].mesh.set(Axis::pipeline, 3);
  plans[1].micro_batches = 4;
  plans[2].mesh.set_tiles({2, 2, 1});
  plans[2].mesh.set(Axis::filter, 3);
  plans[2].mesh.set(Axis::channel, 2);
  plans[3].mesh.set(Axis::tensor, 4);
  plans[3].zero_stage = 3;
  plans[3].recompute = Recompute::full;
  for (Plan& plan : plans) plan.global_batch = 64;
  return plans;
}

std::size_t count_layers(const Series& series) {
  std::size_t count = 0;
  for (const SeriesElement& element : series) {
    if (element.layer >= 0) ++count;
    for (const Series& branch : element.branches) count += count_layers(branch);
  }
  return count;
}

void look_at_graph(const Model& model) {
  require(count_layers(series_of(model)) == model.layers.size(), "a layer is drawn twice or not at all");
  const std::string drawing = draw_model(model);
  for (std::size_t start = 0; start < drawing.size();) {
    const std::size_t end = drawing.find('\n', start);
    require(display_width(std::string_view(drawing).substr(start, end - start)) <= 100, "a line of the drawing is too long");
    start = end + 1;
  }
  const WorkDepth forward = forward_work_depth(model, 1e6);
  const WorkDepth training = training_work_depth(model, 1e6);
  require(std::isfinite(training.work) && std::isfinite(training.depth), "work or depth is not a number");
  require(forward.depth >= 1 && training.depth >= forward.depth && training.work >= forward.work,
          "training is less than its forward pass");
}

void price(Model model) {
  static const Machine machine = load_machine("dgx-a100");
  const OwnedJob owned(std::move(model), machine, Assumptions(), 1e6);
  const Estimator estimator(owned.job);
  for (const Plan& plan : plans()) {
    const Estimate estimate = estimator.estimate(plan);
    const double time = estimate.time.step_time().value();
    const double memory = estimate.memory.total().value();
    require(std::isfinite(time) && time >= 0, "the time of an iteration is not a time");
    require(std::isfinite(memory) && memory >= 0, "the memory of a device is not an amount");
  }
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The number is sufficient for every kind of layer. More layers would make estimates slower.
#ifdef DDL_FUZZES
  constexpr std::size_t most_layers = 100;
#else
  constexpr std::size_t most_layers = 1000;
#endif
  auto model = ddl::result_of([&] { return ddl::parse_model(ddl::text_of(data, size), "model.yaml"); });
  if (!model || model->layers.size() > most_layers) return 0;
  ddl::look_at_graph(*model);
  ddl::price(*std::move(model));
  const ddl::FileOfText file(ddl::text_of(data, size), ".yaml");
  ddl::look_at_reports({"models", "show", file.path()}, {"text", "csv", "json"}, ddl::text_of(data, size));
  return 0;
}
