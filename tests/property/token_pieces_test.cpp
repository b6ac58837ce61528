// Tests stages that pass a sample on in pieces of its tokens: which layers can, and how long the first micro-batch takes.
#include "estimator/layers/token_pieces.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "estimator/facts/token_order.hpp"
#include "estimator/search/search.hpp"
#include "tests/catch.hpp"
#include "tests/property/segment_cases.hpp"
#include "tests/random.hpp"

namespace token_pieces_tests {

using namespace ddl;
using segments_tests::assumptions_of;
using segments_tests::nodes_of;
using segments_tests::plan_on;

namespace {

OwnedJob job_with(const std::string& model, double pieces) {
  Assumptions assumptions = assumptions_of(false);
  assumptions.token_pieces = pieces;
  return {load_model(model), nodes_of(8, 80e9), assumptions, 1e6};
}

int wave_of(const OwnedJob& owned, std::string_view name) {
  const std::vector<Layer>& layers = owned.model.layers;
  const auto found = std::find_if(layers.begin(), layers.end(), [&](const Layer& each) { return each.name == name; });
  REQUIRE(found != layers.end());
  return waves_of(owned.facts)[static_cast<std::size_t>(found - layers.begin())];
}

/// Simulates the forward of one micro-batch. Each part of a wave runs its pieces one after the other. A piece waits for the
/// same piece of the part before, and the first piece of a wave for all of the wave before.
double simulated(const std::vector<std::vector<double>>& waves, int pieces) {
  double begin = 0;
  for (const std::vector<double>& parts : waves) {
    std::vector<double> arrived(static_cast<std::size_t>(pieces), begin);
    for (const double part : parts) {
      double free = begin;
      for (double& piece : arrived) free = piece = std::max(free, piece) + part / pieces;
    }
    begin = arrived.back();
  }
  return begin;
}

}  // namespace

TEST_CASE("LSTMs in both directions and attention to a whole sequence end a wave, causal layers do not") {
  const OwnedJob gnmt = job_with("gnmt", 8);
  const int first = wave_of(gnmt, "encoder1"), second = wave_of(gnmt, "encoder2");
  CHECK(first < second);
  CHECK(second == wave_of(gnmt, "decoder1"));
  CHECK(second < wave_of(gnmt, "context"));
  CHECK(wave_of(gnmt, "context") == wave_of(gnmt, "decoder2"));
  CHECK(wave_of(gnmt, "context") == wave_of(gnmt, "head"));
  CHECK(waves_of(job_with("gpt2", 8).facts).back() == 0);
  // Each of 12 blocks begins with attention to the whole sequence.
  CHECK(waves_of(job_with("bert-base", 8).facts).back() >= 12);
  const OwnedJob images = job_with("alexnet", 8);
  CHECK(waves_of(images.facts).back() == static_cast<int>(images.model.layers.size()) - 1);
}

TEST_CASE("the first micro-batch takes as long as a simulation of its pieces") {
  Random random(311);
  for (int turn = 0; turn < 300; ++turn) {
    Step step;
    step.stages = random.whole(2, 6);
    step.pieces = random.whole(2, 9);
    const int count = random.whole(1, 4);
    std::vector<std::vector<double>> waves(static_cast<std::size_t>(count));
    // The waves follow one after the other, and one wave may end and the next one begin in a stage.
    for (int wave = 0, stage = 0; wave < count; ++wave) {
      const int last = wave + 1 == count ? step.stages - 1 : random.whole(stage, step.stages - 1);
      for (; stage <= last; ++stage) {
        const double time = random.whole(1, 100) / 10.0;
        waves[static_cast<std::size_t>(wave)].push_back(time);
        Task task{stage, false, Part::forward, 0, Term(Seconds(time))};
        task.wave = wave;
        step.tasks.push_back(task);
      }
      stage = last;
    }
    step.waves = {count - 1};
    step.transfers.resize(static_cast<std::size_t>(step.stages));
    INFO("turn " << turn);
    CHECK(run(step, step.origin).step_time() == Approx(simulated(waves, static_cast<int>(step.pieces))).epsilon(1e-12));
  }
}

TEST_CASE("the bubble of a pipeline of causal layers is divided by the number of pieces, and kernels never take less time") {
  Plan plan = plan_on(Mesh{{Axis::pipeline, 4}}, 16);
  plan.micro_batches = 4;
  for (const std::string model : {"gpt2", "gnmt"}) {
    const OwnedJob whole = job_with(model, 1);
    const Estimate one = Estimator(whole.job).estimate(plan);
    Seconds forward{};
    for (const int pieces : {2, 4, 8, 16}) {
      const OwnedJob owned = job_with(model, pieces);
      const Estimate divided = Estimator(owned.job).estimate(plan);
      INFO(model << " in " << pieces << " pieces");
      REQUIRE(divided.time.step_time().value() > 0);
      CHECK(divided.time[Part::forward] >= one.time[Part::forward] * (1 - 1e-9));
      CHECK(divided.time[Part::forward] >= forward * (1 - 1e-9));
      forward = divided.time[Part::forward];
      if (model == "gnmt") {
        CHECK(divided.time[Part::bubble] < one.time[Part::bubble]);
        continue;
      }
      const double slower = divided.time[Part::forward] / one.time[Part::forward];
      CHECK(divided.time[Part::bubble].value() * pieces == Approx(one.time[Part::bubble].value() * slower).epsilon(0.15));
      CHECK(divided.memory.total() == one.memory.total());
    }
  }
}

TEST_CASE("forward of frozen layers runs in pieces, as that of trained ones") {
  Plan plan = plan_on(Mesh{{Axis::pipeline, 4}}, 16);
  plan.micro_batches = 4;
  const std::string frozen = "gpt2@frozen=embedding+positions1+layer0+layer1+layer2+layer3+layer4+layer5";
  for (const int pieces : {1, 8}) {
    const OwnedJob trained = job_with("gpt2", pieces), partly = job_with(frozen, pieces);
    CHECK(Estimator(trained.job).estimate(plan).time[Part::forward].value() ==
          Approx(Estimator(partly.job).estimate(plan).time[Part::forward].value()).epsilon(1e-9));
  }
}

TEST_CASE("pieces gain nothing where every block attends to the whole sequence") {
  Plan plan = plan_on(Mesh{{Axis::pipeline, 4}}, 16);
  plan.micro_batches = 4;
  const OwnedJob whole = job_with("bert-base", 1), owned = job_with("bert-base", 8);
  const Estimate one = Estimator(whole.job).estimate(plan), divided = Estimator(owned.job).estimate(plan);
  REQUIRE(one.time.step_time().value() > 0);
  CHECK(divided.time.step_time() >= one.time.step_time() * 0.97);
  // Without stages, no kernel is divided.
  const Plan data = plan_on(Mesh{{Axis::data, 4}}, 16);
  CHECK(Estimator(owned.job).step_time(data) == Estimator(whole.job).step_time(data));
}

TEST_CASE("pieces exclude virtual stages and schedules that fill bubbles") {
  const OwnedJob images = job_with("resnet50", 8);
  Plan without_tokens = plan_on(Mesh{{Axis::pipeline, 4}}, 16);
  without_tokens.micro_batches = 8;
  without_tokens.schedule = Schedule::zero_bubble;
  CHECK(Estimator(images.job).limits(without_tokens).empty());
  const OwnedJob owned = job_with("gpt2", 8);
  const Estimator estimator(owned.job);
  Plan plan = plan_on(Mesh{{Axis::pipeline, 4}}, 16);
  plan.micro_batches = 8;
  CHECK(estimator.limits(plan).empty());
  plan.schedule = Schedule::gpipe;
  CHECK(estimator.limits(plan).empty());
  plan.schedule = Schedule::zero_bubble;
  REQUIRE(!estimator.limits(plan).empty());
  CHECK(estimator.limits(plan).begin()->kind == Limit::Kind::token_pieces);
  plan.schedule = Schedule::one_forward_one_backward;
  plan.virtual_stages = 3;
  REQUIRE(!estimator.limits(plan).empty());
  CHECK(estimator.limits(plan).begin()->kind == Limit::Kind::token_pieces);
}

}  // namespace token_pieces_tests
