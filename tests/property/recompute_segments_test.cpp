// Tests plans in which some blocks are recomputed: equal rules equal plans without segments, and the search for recomputed
// blocks finds what a search of all sets of blocks finds.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "estimator/search/recompute_search.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/property/segment_cases.hpp"

namespace recompute_segments_tests {

namespace {

using namespace ddl;

/// A node of eight V100 GPUs.
Machine node_of(double memory) {
  Machine machine = segments_tests::nodes_of(8, memory);
  machine.levels.pop_back();
  return machine;
}

struct Training {
  explicit Training(const std::string& model, double memory = 1e12, bool overlap = true)
      : owned(load_model(model), node_of(memory), segments_tests::assumptions_of(overlap), 1e6), estimator(owned.job) {}
  /// Returns the first layer of each block.
  [[nodiscard]] std::vector<int> blocks() const {
    std::vector<int> firsts;
    const std::vector<Layer>& layers = owned.model.layers;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].block >= 0 && (i == 0 || layers[i].block != layers[i - 1].block)) firsts.push_back(static_cast<int>(i));
    }
    return firsts;
  }
  OwnedJob owned;
  Estimator estimator;
};

Plan plan_on(const Mesh& mesh, std::int64_t batch) {
  Plan plan;
  plan.mesh = mesh;
  plan.global_batch = batch;
  plan.micro_batches = mesh[Axis::pipeline] > 1 ? 4 : 1;
  plan.optimizer = Optimizer::momentum;
  return plan;
}

/// Recomputes the blocks whose bits are set.
Plan with_blocks(Plan plan, const std::vector<int>& blocks, std::uint32_t bits) {
  plan.recompute = Recompute::full;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    plan.recompute_segments.push_back({i == 0 ? 0 : blocks[i], (bits >> i & 1U) != 0});
  join_recompute_segments(plan);
  return plan;
}

void check_equal(const Estimate& a, const Estimate& b) {
  REQUIRE(a.time.step_time().value() > 0);
  CHECK(a.time.step_time().value() == Approx(b.time.step_time().value()).epsilon(1e-9));
  CHECK(a.memory.total().value() == Approx(b.memory.total().value()).epsilon(1e-9));
  CHECK(a.memory.upper_bound().value() == Approx(b.memory.upper_bound().value()).epsilon(1e-9));
  if (b.plan.recompute != Recompute::none) CHECK(a.recomputed_share == Approx(b.recomputed_share).epsilon(1e-9));
  CHECK(a.efficiency == Approx(b.efficiency).epsilon(1e-9));
}

TEST_CASE("recompute segments that are alike in all stages change neither time nor memory") {
  const std::vector<Mesh> meshes{Mesh{{Axis::data, 8}}, Mesh{{Axis::data, 4}, {Axis::tensor, 2}},
                                 Mesh{{Axis::data, 4}, {Axis::pipeline, 2}}, Mesh{{Axis::pipeline, 4}, {Axis::data, 2}}};
  int compared = 0;
  for (const std::string model : {"resnet50", "gpt2", "unet3d", "qwen3-30b-a3b", "t5-base"}) {
    const Training training(model);
    const Estimator& estimator = training.estimator;
    const std::vector<int> blocks = training.blocks();
    for (const Mesh& mesh : meshes) {
      for (const int zero : {0, 1, 3}) {
        Plan plan = plan_on(mesh, 64);
        plan.zero_stage = zero;
        if (!estimator.limits(plan).empty()) continue;
        INFO(fmt::format("{}, {}, ZeRO-{}", model, degrees_text(mesh), zero));
        const std::vector<int>& firsts = estimator.stages(plan);
        // The first block of each stage, which begins in the stage or with it.
        Plan first = plan;
        first.recompute = Recompute::full;
        first.recompute_blocks = 1;
        Plan some = first;
        some.recompute_blocks = 0;
        const auto& layers = training.owned.model.layers;
        for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
          int begin = firsts[stage];
          while (begin < firsts[stage + 1] && layers[static_cast<std::size_t>(begin)].block < 0) ++begin;
          if (begin == firsts[stage + 1]) continue;
          int end = begin;
          while (end < firsts[stage + 1] &&
                 layers[static_cast<std::size_t>(end)].block == layers[static_cast<std::size_t>(begin)].block)
            ++end;
          some.recompute_segments.push_back({begin, true});
          some.recompute_segments.push_back({end, false});
        }
        check_equal(estimator.estimate(some), estimator.estimate(first));
        Plan all = plan;
        all.recompute = Recompute::full;
        Plan each = all;
        for (const int block : blocks) each.recompute_segments.push_back({block, true});
        check_equal(estimator.estimate(each), estimator.estimate(all));
        each.recompute_segments = {{0, false}};
        check_equal(estimator.estimate(each), estimator.estimate(plan));
        join_recompute_segments(each);
        CHECK(each == plan);
        ++compared;
      }
    }
  }
  CHECK(compared >= 40);
}

struct Question {
  std::string model;
  Mesh mesh;
  std::int64_t batch = 64;
  double share = 0.5;  ///< memory of the device between that of all blocks recomputed, 0, and of none, 1
  int zero = 0;
};

TEST_CASE("the search finds the blocks of least time that fit") {
  const std::vector<Question> questions{{"resnet18", {{Axis::data, 8}}, 512, 0.5},
                                        {"resnet18", {{Axis::data, 8}}, 512, 0.2},
                                        {"resnet18", {{Axis::data, 8}}, 512, 0.8},
                                        {"resnet18", {{Axis::data, 4}, {Axis::filter, 2}}, 256, 0.4},
                                        {"resnet18", {{Axis::data, 4}, {Axis::pipeline, 2}}, 512, 0.4},
                                        {"gpt2@layers=6", {{Axis::data, 8}}, 32, 0.5},
                                        {"gpt2@layers=6", {{Axis::data, 4}, {Axis::pipeline, 2}}, 64, 0.3},
                                        {"gpt2@layers=8", {{Axis::data, 2}, {Axis::pipeline, 4}}, 64, 0.5},
                                        {"gpt2@layers=6", {{Axis::tensor, 2}, {Axis::data, 4}}, 32, 0.7, 3},
                                        {"unet3d", {{Axis::data, 8}}, 16, 0.3},
                                        {"unet3d", {{Axis::data, 8}}, 16, 0.6},
                                        {"unet3d", {{Axis::data, 8}}, 16, 0.9, 1},
                                        {"t5-small", {{Axis::data, 8}}, 64, 0.5},
                                        {"googlenet", {{Axis::data, 8}}, 512, 0.5},
                                        {"googlenet", {{Axis::data, 8}}, 512, 0.15}};
  int compared = 0, longer = 0;
  for (const Question& question : questions) {
    INFO(fmt::format("{}, {}, {}", question.model, degrees_text(question.mesh), question.share));
    Plan plan = plan_on(question.mesh, question.batch);
    plan.zero_stage = question.zero;
    const Training wide(question.model, 1e13, false);
    REQUIRE(wide.estimator.limits(plan).empty());
    const std::vector<int> blocks = wide.blocks();
    REQUIRE(blocks.size() > 2);
    REQUIRE(blocks.size() <= 12);
    const Estimate without = wide.estimator.estimate(plan);
    const double most = without.memory.upper_bound().value();
    Plan all = plan;
    all.recompute = Recompute::full;
    const Estimate with_all = wide.estimator.estimate(all);
    const double least = with_all.memory.upper_bound().value();
    const Training training(question.model, least + question.share * (most - least), false);
    const Estimator& estimator = training.estimator;
    std::optional<Estimate> best;
    for (std::uint32_t bits = 1; bits < 1U << blocks.size(); ++bits) {
      const Plan own = with_blocks(plan, blocks, bits);
      const Estimate estimate = estimator.estimate(own);
      if (estimate.verdict != Verdict::fits || !estimate.feasible()) continue;
      if (!best || estimate.time.step_time() < best->time.step_time()) best = estimate;
    }
    REQUIRE(best);
    const std::optional<RecomputedPlan> found = least_recomputation(estimator, plan, Verdict::fits);
    REQUIRE(found);
    const Estimate estimate = estimator.estimate(found->plan);
    CHECK(estimate.verdict == Verdict::fits);
    INFO(fmt::format("found {} {} s, best {} {} s, gap {} s", recompute_segments_text(found->plan),
                     estimate.time.step_time().value(), recompute_segments_text(best->plan), best->time.step_time().value(),
                     found->gap.value()));
    CHECK(estimate.time.step_time() <= best->time.step_time() * (1 + 1e-9));
    // The same fraction of every block frees what lacks, too. With whole blocks, steps may be longer, by the gap at most.
    const Seconds with_fractions =
        without.time.step_time() * question.share + with_all.time.step_time() * (1 - question.share);
    INFO(fmt::format("fractions of all blocks {} s", with_fractions.value()));
    CHECK(estimate.time.step_time() - found->gap <= with_fractions * (1 + 1e-9));
    longer += estimate.time.step_time() > with_fractions ? 1 : 0;
    ++compared;
  }
  CHECK(compared == static_cast<int>(questions.size()));
  CHECK(longer > 0);
}

TEST_CASE("recompute segments need full recomputation") {
  const Training training("gpt2");
  Plan plan = plan_on(Mesh{{Axis::data, 8}}, 64);
  plan.recompute_segments = {{training.blocks()[1], false}};
  for (const Recompute recompute : {Recompute::none, Recompute::selective}) {
    plan.recompute = recompute;
    const Limits limits = training.estimator.limits(plan);
    REQUIRE(limits.size() == 1);
    CHECK(limits.begin()->kind == Limit::Kind::segment_choice);
  }
  plan.recompute = Recompute::full;
  CHECK(training.estimator.limits(plan).empty());
}

TEST_CASE("a plan that fits recomputes nothing, and one that cannot fit is not found") {
  const Training wide("gpt2");
  const Plan plan = plan_on(Mesh{{Axis::data, 8}}, 64);
  const std::optional<RecomputedPlan> found = least_recomputation(wide.estimator, plan, Verdict::fits);
  REQUIRE(found);
  CHECK(found->plan.recompute == Recompute::none);
  CHECK(found->gap == Seconds{});
  const Training narrow("gpt2", 1e9);
  CHECK(!least_recomputation(narrow.estimator, plan, Verdict::fits));
}

}  // namespace

}  // namespace recompute_segments_tests
