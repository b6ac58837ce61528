// Tests plans with a ZeRO stage for each segment of layers: equal stages equal one stage, parts add up, and the search for
// ZeRO stages finds what a search of all assignments finds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "estimator/explain/explanation.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/search/zero_search.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/property/segment_cases.hpp"

namespace zero_segments_tests {

namespace {

using namespace ddl;

struct Training {
  explicit Training(const std::string& model, bool gathers_units = false, double memory = 1e12, bool overlap = true)
      : owned(load_model(model), segments_tests::nodes_of(8, memory), assumptions_of(overlap, gathers_units), 1e6),
        estimator(owned.job) {}
  static Assumptions assumptions_of(bool overlap, bool gathers_units) {
    Assumptions assumptions = segments_tests::assumptions_of(overlap);
    assumptions.gathers_units = gathers_units;
    assumptions.copies_gathered = gathers_units;
    return assumptions;
  }
  /// Returns the first layers of blocks, or of layers with parameters if the model has no blocks.
  [[nodiscard]] std::vector<int> units() const {
    std::vector<int> firsts;
    const std::vector<Layer>& layers = owned.model.layers;
    const bool has_blocks = std::any_of(layers.begin(), layers.end(), [](const Layer& each) { return each.block >= 0; });
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const bool begins = has_blocks ? i == 0 || layers[i].block != layers[i - 1].block : layers[i].parameters() > 0;
      if (begins) firsts.push_back(static_cast<int>(i));
    }
    return firsts;
  }
  OwnedJob owned;
  Estimator estimator;
};

Plan plan_on(const Mesh& mesh, std::int64_t batch, std::int64_t micro_batches = 1) {
  Plan plan = segments_tests::plan_on(mesh, batch);
  plan.micro_batches = mesh[Axis::pipeline] > 1 ? std::max<std::int64_t>(4, micro_batches) : micro_batches;
  return plan;
}

TEST_CASE("ZeRO segments that are alike change neither time nor memory") {
  const std::vector<Mesh> meshes{Mesh{{Axis::data, 16}}, Mesh{{Axis::data, 8}, {Axis::tensor, 2}},
                                 Mesh{{Axis::data, 4}, {Axis::filter, 4}}, Mesh{{Axis::data, 4}, {Axis::pipeline, 4}},
                                 Mesh{{Axis::data, 4}, {Axis::expert, 4}}};
  int compared = 0;
  for (const std::string model : {"alexnet", "resnet50", "gpt2", "qwen3-30b-a3b", "t5-base"}) {
    for (const bool units : {false, true}) {
      const Training training(model, units);
      const Estimator& estimator = training.estimator;
      const auto layers = static_cast<int>(training.owned.model.layers.size());
      for (const Mesh& mesh : meshes) {
        for (const int zero : {0, 1, 2, 3}) {
          Plan plan = plan_on(mesh, 64, 1 + zero % 2);
          plan.zero_stage = zero;
          plan.recompute = zero == 3 ? Recompute::full : Recompute::none;
          const Estimate uniform = estimator.estimate(plan);
          if (uniform.time.step_time().value() <= 0) continue;
          INFO(fmt::format("{}, {}, ZeRO-{}, units {}", model, degrees_text(mesh), zero, units));
          plan.zero_segments = {{layers / 3, zero}, {layers / 2, zero}};
          const Estimate segments = estimator.estimate(plan);
          REQUIRE(segments.time.step_time().value() > 0);
          CHECK(segments.time.step_time().value() == Approx(uniform.time.step_time().value()).epsilon(1e-9));
          CHECK(segments.memory.total().value() == Approx(uniform.memory.total().value()).epsilon(1e-9));
          CHECK(segments.memory.upper_bound().value() == Approx(uniform.memory.upper_bound().value()).epsilon(1e-9));
          join_zero_segments(plan);
          CHECK(plan == uniform.plan);
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 120);
}

/// Returns the bytes of the exchanges of gradients and weights with an operation.
double bytes_of(const Explanation& explanation, Collective operation) {
  double bytes = 0;
  for (const ExchangeTotal& total : explanation.exchanges) {
    if (total.phase == Phase::gradient && total.operation == operation) bytes += total.bytes.value();
  }
  return bytes;
}

TEST_CASE("the exchanges and the memory of layers with different ZeRO stages add up") {
  const Training training("vgg16");
  const Estimator& estimator = training.estimator;
  const auto& layers = training.owned.model.layers;
  const auto first = std::find_if(layers.begin(), layers.end(), [](const Layer& each) { return each.name == "fc1"; });
  REQUIRE(first != layers.end());
  double before = 0, after = 0;
  for (auto each = layers.begin(); each != layers.end(); ++each)
    (each < first ? before : after) += static_cast<double>(each->parameters());
  Plan plan = plan_on(Mesh{{Axis::data, 8}}, 64);
  const auto with = [&](int zero, int zero_after) {
    plan.zero_stage = zero;
    plan.zero_segments = {{static_cast<int>(first - layers.begin()), zero_after}};
    return plan;
  };
  // 4 bytes for each parameter: an Allreduce of gradients; with ZeRO-1, a Reduce-scatter and an Allgather; with ZeRO-3, an
  // Allgather for forward and one for backward.
  Explanation mixed = explain(estimator, with(0, 1));
  CHECK(bytes_of(mixed, Collective::allreduce) == Approx(4 * before));
  CHECK(bytes_of(mixed, Collective::reduce_scatter) == Approx(4 * after));
  CHECK(bytes_of(mixed, Collective::allgather) == Approx(4 * after));
  mixed = explain(estimator, with(3, 1));
  CHECK(bytes_of(mixed, Collective::allreduce) == 0);
  CHECK(bytes_of(mixed, Collective::reduce_scatter) == Approx(4 * (before + after)));
  CHECK(bytes_of(mixed, Collective::allgather) == Approx(4 * (2 * before + after)));
  // The momentum: 4 bytes for each parameter, of which a rank has an eighth with ZeRO.
  CHECK(estimator.estimate(with(0, 1)).memory.optimizer.value() == Approx(4 * (before + after / 8)).epsilon(1e-4));
  CHECK(estimator.estimate(with(3, 0)).memory.optimizer.value() == Approx(4 * (before / 8 + after)).epsilon(1e-4));
  // The layers of the explanation have the time of the step.
  for (const Plan& each : {with(0, 1), with(3, 1), with(2, 3)}) {
    const Explanation explanation = explain(estimator, each);
    Seconds sum{};
    for (const LayerExplanation& layer : explanation.layers) sum += layer.time[Part::weight_update];
    CHECK(sum.value() == Approx(explanation.estimate.time[Part::weight_update].value()).epsilon(1e-6));
  }
}

TEST_CASE("the time and the memory of two ZeRO stages lie between those of one") {
  for (const bool units : {false, true}) {
    for (const std::string model : {"gpt2", "vgg16", "t5-base"}) {
      const Training training(model, units, 1e12, false);
      const Estimator& estimator = training.estimator;
      const std::vector<int> firsts = training.units();
      for (const auto& [low, high] : std::vector<std::pair<int, int>>{{0, 1}, {0, 3}, {2, 3}, {1, 3}}) {
        const Plan plan = plan_on(Mesh{{Axis::data, 16}}, 64, 2);
        const Estimate all_low = estimator.estimate(with_zero_stage(plan, low));
        const Estimate all_high = estimator.estimate(with_zero_stage(plan, high));
        for (const std::size_t unit : {firsts.size() / 4, firsts.size() / 2, firsts.size() - 2}) {
          Plan mixed = with_zero_stage(plan, high);
          mixed.zero_segments = {{firsts[unit], low}};
          const Estimate estimate = estimator.estimate(mixed);
          REQUIRE(estimate.limits.empty());
          INFO(fmt::format("{}, units {}, ZeRO-{} from layer {} on, ZeRO-{} before", model, units, low, firsts[unit], high));
          const Seconds least = min(all_low.time.step_time(), all_high.time.step_time());
          const Seconds most = max(all_low.time.step_time(), all_high.time.step_time());
          // Messages of parts are smaller, so that their start-ups are more.
          CHECK(estimate.time.step_time() >= least * 0.999);
          CHECK(estimate.time.step_time() <= most * 1.02);
          CHECK(estimate.memory.total() <= all_low.memory.total() * 1.001);
          CHECK(estimate.memory.total() >= all_high.memory.total() * 0.999);
          // The model of the allocator makes the same requests as the sum.
          const std::optional<MemoryTimeline> timeline = memory_timeline(estimator, mixed, {});
          REQUIRE(timeline);
          CHECK(timeline->peak.allocated.value() == Approx(estimate.memory.allocated().value()).epsilon(0.01));
        }
      }
    }
  }
}

/// Returns whether each stage of a plan fits by the upper bound of its memory.
bool fits(const Estimator& estimator, const Plan& plan) {
  for (int stage = 0; stage < plan.mesh[Axis::pipeline]; ++stage) {
    const MemoryBreakdown memory = estimator.memories().memory(plan, estimator.stages(plan), stage);
    if (memory.upper_bound() > estimator.job().machine.device.memory) return false;
  }
  return true;
}

struct Question {
  std::string model;
  Mesh mesh;
  std::int64_t batch = 64;
  double share = 0.5;  ///< memory of the device between those of the uniform plans with most and with least memory
  std::vector<int> zero_stages{0, 3};
  bool units = false;
};

TEST_CASE("the search finds the ZeRO stages of least time that fit") {
  const std::vector<Question> questions{{"gpt2@layers=6", {{Axis::data, 8}}, 32, 0.5},
                                        {"gpt2@layers=6", {{Axis::data, 8}}, 32, 0.25, {1, 3}},
                                        {"gpt2@layers=6", {{Axis::data, 16}}, 32, 0.7, {2, 3}, true},
                                        {"gpt2@layers=6", {{Axis::data, 8}, {Axis::tensor, 2}}, 32, 0.4, {0, 1}},
                                        {"gpt2@layers=6", {{Axis::data, 8}}, 32, 0.5, {0, 1, 3}},
                                        {"gpt2@layers=8", {{Axis::data, 4}, {Axis::pipeline, 2}}, 64, 0.5},
                                        {"gpt2@layers=8", {{Axis::data, 2}, {Axis::pipeline, 4}}, 64, 0.3},
                                        {"alexnet", {{Axis::data, 16}}, 512, 0.5},
                                        {"alexnet", {{Axis::data, 16}}, 512, 0.2, {0, 1, 2}},
                                        {"alexnet", {{Axis::data, 8}}, 64, 0.6, {0, 1}},
                                        {"gpt2@layers=4", {{Axis::data, 16}}, 64, 0.5, {0, 2}},
                                        {"resnet18", {{Axis::data, 8}}, 64, 0.4}};
  int compared = 0;
  for (const Question& question : questions) {
    INFO(fmt::format("{}, {}, {}", question.model, degrees_text(question.mesh), question.share));
    const Plan plan = plan_on(question.mesh, question.batch);
    const Training wide(question.model, question.units, 1e13, false);
    const std::vector<int> firsts = wide.units();
    double least = 1e300, most = 0;
    for (const int zero : question.zero_stages) {
      const double needed = wide.estimator.estimate(with_zero_stage(plan, zero)).memory.upper_bound().value();
      least = std::min(least, needed);
      most = std::max(most, needed);
    }
    const Training training(question.model, question.units, least + question.share * (most - least), false);
    const Estimator& estimator = training.estimator;
    std::optional<Estimate> best;
    std::vector<std::size_t> choice(firsts.size(), 0);
    std::size_t place = 0;
    while (place < choice.size()) {
      Plan own = with_zero_stage(plan, question.zero_stages[choice.front()]);
      for (std::size_t i = 1; i < firsts.size(); ++i)
        own.zero_segments.push_back({firsts[i], question.zero_stages[choice[i]]});
      join_zero_segments(own);
      const Estimate estimate = estimator.estimate(own);
      if (estimate.verdict == Verdict::fits && fits(estimator, own) &&
          (!best || estimate.time.step_time() < best->time.step_time()))
        best = estimate;
      for (place = 0; place < choice.size() && ++choice[place] == question.zero_stages.size();) choice[place++] = 0;
    }
    REQUIRE(best);
    SearchOptions options;
    options.admitted[PlanChoice::zero] = question.zero_stages;
    const std::optional<Plan> found = best_sharding(estimator, options, plan, Verdict::fits);
    if (best->plan.zero_segments.empty()) continue;
    // Nothing is found if a plan with one ZeRO stage takes as long.
    Estimate estimate;
    for (const int zero : question.zero_stages) {
      const Estimate uniform = estimator.estimate(with_zero_stage(plan, zero));
      if (uniform.verdict == Verdict::fits && !found) estimate = uniform;
    }
    if (found) estimate = estimator.estimate(*found);
    CHECK(estimate.time.step_time().value() > 0);
    CHECK(estimate.verdict == Verdict::fits);
    INFO(fmt::format("found {} {} s, best {} {} s", zero_segments_text(estimate.plan), estimate.time.step_time().value(),
                     zero_segments_text(best->plan), best->time.step_time().value()));
    // Start-ups of messages of several blocks do not quite add up.
    CHECK(estimate.time.step_time() <= best->time.step_time() * 1.005);
    compared += found ? 1 : 0;
  }
  CHECK(compared >= 7);
}

TEST_CASE("ZeRO segments refuse what needs one ZeRO stage") {
  const Training training("gpt2");
  Plan plan = plan_on(Mesh{{Axis::data, 8}}, 64);
  plan.zero_stage = 3;
  plan.zero_segments = {{20, 2}};
  CHECK(training.estimator.limits(plan).empty());
  Plan grouped = plan;
  grouped.shard_group = 2;
  CHECK(training.estimator.limits(grouped).begin()->item == "shard groups");
  plan.zero_segments = {{100000, 2}};
  CHECK(training.estimator.limits(plan).begin()->kind == Limit::Kind::segment_first);
}

TEST_CASE("the notation of ZeRO segments is read back") {
  Plan plan;
  plan.zero_segments = {{7, 3}, {20, 0}};
  CHECK(zero_segments_text(plan) == "from7:z3 from20:z0");
  CHECK(parse_zero_segment("from20:z0") == ZeroSegment{20, 0});
  for (const std::string text : {"from20:z4", "from20:z", "from20:ac", "from:z1", "z1", "from-1:z1", "from20:z12"})
    CHECK(!parse_zero_segment(text));
}

}  // namespace

}  // namespace zero_segments_tests
