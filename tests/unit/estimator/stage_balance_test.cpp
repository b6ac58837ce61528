#include "estimator/layers/stage_balance.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "estimator/schedules/schedule.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/strategies/pipeline.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// Returns a model with a layer with weights for each 'w', and an activation for each 'a'.
Model chain(const std::string& kinds) {
  std::string text = "format: 1\nmodel: chain\ninput: {features: 10}\nlayers:\n";
  for (const char kind : kinds) text += kind == 'w' ? "  - fully_connected: 10\n" : "  - activation: relu\n";
  return parse_model(text, "chain.yaml");
}

/// Returns times of which forward is a third, and backward the rest.
std::vector<LayerTimes> times_of(const std::vector<double>& seconds) {
  std::vector<LayerTimes> times;
  for (const double time : seconds) times.push_back({Seconds(time / 3), Seconds(time * 2 / 3), Seconds()});
  return times;
}

/// Returns the times of times_of, with forward and backward swapped for every second layer.
std::vector<LayerTimes> uneven_times_of(const std::vector<double>& seconds) {
  std::vector<LayerTimes> times = times_of(seconds);
  for (std::size_t i = 1; i < times.size(); i += 2) std::swap(times[i].forward, times[i].backward);
  return times;
}

/// Returns cuts at any place, by the layers' times alone; empty if there are fewer places than stages.
std::vector<int> balanced_stages(const ModelFacts& facts, const std::vector<LayerTimes>& times, int stages) {
  const StagePlaces places(facts, stages, {}, 1);
  if (places.levels().empty()) return {};
  const std::vector<int>& allowed = places.levels().back();
  std::vector<StageLoad> before;
  StageLoad sum;
  int layer = 0;
  for (const int place : allowed) {
    for (; layer < place; ++layer) {
      const LayerTimes& own = times[static_cast<std::size_t>(layer)];
      sum.add({.forward = own.forward, .backward = own.backward}, 1);
    }
    before.push_back(sum);
  }
  std::vector<int> firsts;
  for (const int place : StageBalance(before, {}, stages).light_first().places)
    firsts.push_back(allowed[static_cast<std::size_t>(place)]);
  return firsts;
}

std::vector<int> stages_of(const std::string& kinds, const std::vector<double>& seconds, int stages) {
  const Model model = chain(kinds);
  return balanced_stages(facts_of(model), uneven_times_of(seconds), stages);
}

double longest(const std::vector<int>& firsts, const std::vector<double>& seconds) {
  double most = 0;
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
    double sum = 0;
    for (int layer = firsts[stage]; layer < firsts[stage + 1]; ++layer) sum += seconds[static_cast<std::size_t>(layer)];
    most = std::max(most, sum);
  }
  return most;
}

/// Returns the minimum time of the longest stage over all ways to cut before layers with weights, by trying each way.
double shortest(const std::string& kinds, const std::vector<double>& seconds, int stages) {
  std::vector<int> places;
  bool weights_before = false;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] != 'w') continue;
    if (weights_before) places.push_back(static_cast<int>(i));
    weights_before = true;
  }
  double best = std::numeric_limits<double>::infinity();
  std::vector<bool> cut(places.size(), false);
  std::fill(cut.end() - (stages - 1), cut.end(), true);
  do {
    std::vector<int> firsts{0};
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (cut[i]) firsts.push_back(places[i]);
    }
    firsts.push_back(static_cast<int>(kinds.size()));
    best = std::min(best, longest(firsts, seconds));
  } while (std::next_permutation(cut.begin(), cut.end()));
  return best;
}

TEST_CASE("layers are distributed so that the longest stage is as short as possible") {
  // The stages 9 | 1 2 3 3 take 9 and 9. With any later cut, the first stage takes at least 10.
  CHECK(stages_of("wwwww", {9, 1, 2, 3, 3}, 2) == std::vector<int>{0, 1, 5});
  // The stages 1 2 3 4 | 9 take 10 and 9. With any earlier cut, the second stage takes at least 13.
  CHECK(stages_of("wwwww", {1, 2, 3, 4, 9}, 2) == std::vector<int>{0, 4, 5});
  CHECK(stages_of("wwwww", {1, 2, 3, 4, 9}, 1) == std::vector<int>{0, 5});
  CHECK(stages_of("wwwww", {1, 2, 3, 4, 9}, 5) == std::vector<int>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("no cut of a random chain has a shorter longest stage") {
  std::mt19937_64 engine(1);
  const auto whole = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine); };
  for (int i = 0; i < 3000; ++i) {
    std::string kinds;
    std::vector<double> seconds;
    const int weighted = whole(1, 9);
    for (int layer = 0; layer < weighted; ++layer) {
      // A chain may begin with activations, too.
      for (int other = whole(0, 2); other > 0; --other) kinds += 'a';
      kinds += 'w';
    }
    if (whole(0, 1) == 1) kinds += 'a';
    // Some layers take no time, and some take equally long.
    while (seconds.size() < kinds.size()) seconds.push_back(whole(0, 3) == 0 ? whole(0, 3) : whole(0, 1000) / 7.0);
    const int stages = whole(1, weighted);
    const std::vector<int> firsts = stages_of(kinds, seconds, stages);
    INFO(kinds << " in " << stages << " stages");
    REQUIRE(firsts.size() == static_cast<std::size_t>(stages) + 1);
    REQUIRE(firsts.front() == 0);
    REQUIRE(firsts.back() == static_cast<int>(kinds.size()));
    for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
      const auto first = static_cast<std::size_t>(firsts[stage]);
      REQUIRE(kinds.substr(first, static_cast<std::size_t>(firsts[stage + 1]) - first).find('w') != std::string::npos);
    }
    REQUIRE(longest(firsts, seconds) == Approx(shortest(kinds, seconds, stages)).epsilon(1e-9));
  }
}

/// Calls `take` with all ways to cut [0, places) into this many stages.
void each_cut(int places, int stages, const std::function<void(const std::vector<int>&)>& take) {
  std::vector<bool> cut(static_cast<std::size_t>(places) - 1, false);
  std::fill(cut.end() - (stages - 1), cut.end(), true);
  do {
    std::vector<int> firsts{0};
    for (std::size_t i = 0; i < cut.size(); ++i) {
      if (cut[i]) firsts.push_back(static_cast<int>(i) + 1);
    }
    firsts.push_back(places);
    take(firsts);
  } while (std::next_permutation(cut.begin(), cut.end()));
}

TEST_CASE("among the cuts with the shortest longest stage, the chosen one has the least memory on its fullest stage") {
  std::mt19937_64 engine(2);
  const auto whole = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine); };
  for (int i = 0; i < 2000; ++i) {
    const int layers = whole(2, 11);
    const int stages = whole(2, layers);
    const int kinds = whole(1, 3);  // if many layers are equal, many cuts have the same longest stage
    std::vector<StageLoad> before(1);
    for (int layer = 0; layer < layers; ++layer) {
      const int kind = whole(1, kinds);
      const int held = kinds == 3 ? whole(0, 4) : kind;
      before.push_back(before.back());
      before.back().add({.forward = Seconds(kind), .kept = Bytes(held)}, 1);
    }
    const double in_flight = whole(1, 12);
    double shortest = std::numeric_limits<double>::infinity(), least = shortest;
    each_cut(layers, stages, [&](const std::vector<int>& firsts) {
      double longest = 0, fullest = 0;
      for (int stage = 0; stage < stages; ++stage) {
        const StageLoad& first = before[static_cast<std::size_t>(firsts[static_cast<std::size_t>(stage)])];
        const StageLoad& last = before[static_cast<std::size_t>(firsts[static_cast<std::size_t>(stage) + 1])];
        longest = std::max(longest, (last.forward - first.forward).value());
        const double held = (last.kept - first.kept).value();
        fullest =
            std::max(fullest, held * micro_batches_in_flight(Schedule::one_forward_one_backward, stage, stages, in_flight));
      }
      if (longest < shortest) least = std::numeric_limits<double>::infinity();
      shortest = std::min(shortest, longest);
      if (longest == shortest) least = std::min(least, fullest);
    });
    StageBalance balance(before, {.micro_batches = in_flight}, stages);
    const StageCuts cuts = balance.least_full();
    INFO(layers << " layers in " << stages << " stages");
    REQUIRE(balance.shortest().value() == Approx(shortest));
    REQUIRE(cuts.longest.value() == Approx(shortest));
    REQUIRE(cuts.fullest.value() == Approx(least));
    REQUIRE(cuts.places.size() == static_cast<std::size_t>(stages) + 1);
  }
}

TEST_CASE("under 1F1B, stages with less memory come first, because they hold the most micro-batches") {
  // Ten equal layers are assigned to four stages. No stage has more than three layers, and the
  // first stage, which holds four micro-batches, has one.
  std::vector<StageLoad> before(1);
  for (int layer = 0; layer < 10; ++layer) {
    before.push_back(before.back());
    before.back().add({.forward = Seconds(1), .kept = Bytes(1)}, 1);
  }
  StageBalance balance(before, {.micro_batches = 8}, 4);
  CHECK(balance.light_first().places == std::vector<int>{0, 1, 4, 7, 10});
  // A stage holds its number of layers times its number of micro-batches in flight. The stages 1 3 3 3 hold 4, 9, 6 and 3
  // activations, and the stages 2 2 3 3 hold 8, 6, 6 and 3.
  CHECK(balance.least_full().places == std::vector<int>{0, 2, 4, 7, 10});
  CHECK(balance.least_full().fullest.value() == 8);
}

TEST_CASE("cuts that few elements cross are tried before cuts that many elements cross") {
  const Model model = parse_model(R"(format: 1
model: funnel
input: {features: 40}
layers:
  - fully_connected: 30
  - fully_connected: 10
  - fully_connected: 20
  - fully_connected: 10
)",
                                  "funnel.yaml");
  const ModelFacts facts = facts_of(model);
  // 30 elements cross before layer 1, 10 before layer 2, 20 before layer 3.
  using Levels = std::vector<std::vector<int>>;
  CHECK(StagePlaces(facts, 2, {}, 1).levels() == Levels{{0, 2, 4}, {0, 2, 3, 4}, {0, 1, 2, 3, 4}});
  CHECK(StagePlaces(facts, 3, {}, 1).levels() == Levels{{0, 2, 3, 4}, {0, 1, 2, 3, 4}});
  CHECK(StagePlaces(facts, 5, {}, 1).levels().empty());
  // Before layer 1, where a spatial split ends, quarters of tensors cross.
  CHECK(StagePlaces(facts, 2, {1, 4}, 4).levels().front() == std::vector<int>{0, 1, 4});
}

TEST_CASE("a plan is cut for the shortest step, not for balanced kernels") {
  // Two layers of 3 s per sample precede a tensor of 10 elements, and two layers follow it. 10,000
  // elements cross in the middle of each half.
  const Model model = parse_model(R"(format: 1
model: narrow
input: {features: 10}
layers:
  - fully_connected: 10000
  - fully_connected: 10000
  - fully_connected: 10
  - fully_connected: 10000
)",
                                  "narrow.yaml");
  const OwnedJob owned(model, nodes_of_four(), Assumptions{}, 1000, times_of({3, 3, 2, 4}));
  Plan plan;
  plan.mesh.set(Axis::pipeline, 2);
  plan.global_batch = 4;
  plan.micro_batches = 2;
  // By kernels alone, 3 3 | 2 4 is best. One micro-batch of 2 samples takes 1 + 80 s to cross this
  // cut, and 1 + 0.08 s to cross the cut after the third layer.
  const Estimator estimator(owned.job);
  CHECK(estimator.stages(plan) == std::vector<int>{0, 3, 4});
  // The first micro-batch takes 24 s for all stages, then the longest stage takes 16 s. There are 2
  // · (2 + 2 - 2) transfers of 1.08 s.
  CHECK(estimator.step_time(plan).value() == Approx(24 + 16 + 4 * 1.08));
}

TEST_CASE("a pipeline has at most as many stages as the model has layers with weights") {
  CHECK(stages_of("wawa", {1, 1, 1, 1}, 2).size() == 3);
  CHECK(stages_of("wawa", {1, 1, 1, 1}, 3).empty());
}

TEST_CASE("blocks are not cut if the model has enough blocks") {
  // The cuts are at: first | block of three | block of three | last
  const Model model = parse_model(R"(format: 1
model: blocks
input: {features: 10}
blocks:
  pair:
    checkpoint: yes
    layers:
      - fully_connected: 10
      - activation: relu
      - fully_connected: 10
layers:
  - fully_connected: 10
  - block: pair
  - block: pair
  - fully_connected: 10
)",
                                  "blocks.yaml");
  const ModelFacts facts = facts_of(model);
  const std::vector<LayerTimes> times = times_of({1, 1, 1, 9, 1, 1, 1, 1});
  // Between layers, the best cut would be 1 1 1 | 9 1 1 1 1. Between blocks, it is 1 1 1 9 | 1 1 1 1.
  CHECK(balanced_stages(facts, times, 2) == std::vector<int>{0, 4, 8});
  CHECK(balanced_stages(facts, times, 4) == std::vector<int>{0, 1, 4, 7, 8});
  // Five stages need a cut inside a block, such as 1 | 1 1 | 9 | 1 1 | 1 1. No stage is longer than 9.
  const std::vector<int> five = balanced_stages(facts, times, 5);
  REQUIRE(five.size() == 6);
  CHECK(std::find(five.begin(), five.end(), 3) != five.end());
  CHECK(balanced_stages(facts, times, 6).size() == 7);
  CHECK(balanced_stages(facts, times, 7).empty());
  // Software that assigns equal numbers of blocks ignores their times.
  CHECK(StagePlaces(facts, 2, {}, 1).equal_blocks() == std::vector<int>{0, 4, 8});
  CHECK(StagePlaces(facts, 4, {}, 1).equal_blocks().empty());
  // The embedding, and then the head, count as a block if the blocks alone do not divide.
  const auto blocks_at = [](const char* name, int stages) {
    const Model decoder = load_model(name);
    const ModelFacts of_decoder = facts_of(decoder);
    std::vector<int> blocks;
    const std::vector<int> firsts = StagePlaces(of_decoder, stages, {}, 1).equal_blocks();
    for (const int first : firsts) {
      if (first > 0 && first < static_cast<int>(decoder.layers.size()))
        blocks.push_back(decoder.layers[static_cast<std::size_t>(first)].block);
    }
    return blocks;
  };
  CHECK(blocks_at("llama3-8b", 4) == std::vector<int>{8, 16, 24});
  CHECK(blocks_at("llama3-8b", 3) == std::vector<int>{10, 21});        // 33 are 11 for each stage
  CHECK(blocks_at("llama3-405b", 4) == std::vector<int>{31, 63, 95});  // 128 are 32 for each stage
  CHECK(blocks_at("llama3-8b", 5).empty());
  Coefficients coefficients;
  const std::vector<LayerTimes> first_is_long = times_of({9, 1, 1, 1, 1, 1, 1, 1});
  Plan plan;
  plan.mesh.set(Axis::pipeline, 2);
  plan.global_batch = plan.micro_batches = 4;
  for (const bool equal : {false, true}) {
    coefficients.software.equal_stages = equal;
    const OwnedJob owned(model, nodes_of_four(), Assumptions{}, 1000, first_is_long, Precision::fp32, Optimizer::sgd,
                         coefficients);
    const Estimator estimator(owned.job);
    CHECK(estimator.stages(plan)[1] == (equal ? 4 : 1));
  }
}

TEST_CASE("the user sets the blocks of the first and the last stage, and the other stages share the rest") {
  const OwnedJob owned(load_model("llama3-8b"), nodes_of_four(), Assumptions{}, 1000);  // 32 blocks
  Plan plan;
  plan.mesh.set(Axis::pipeline, 4);
  plan.global_batch = plan.micro_batches = 8;
  const auto blocks_with = [&](int first, int last) {
    plan.first_stage_blocks = first;
    plan.last_stage_blocks = last;
    return blocks_of_stages(owned.job.facts, plan);
  };
  CHECK(blocks_with(0, 0).empty());
  CHECK(blocks_with(7, 7) == std::vector<int>{7, 9, 9, 7});
  // Of 26 blocks for three stages, later stages get those that are left over.
  CHECK(blocks_with(6, 0) == std::vector<int>{6, 8, 9, 9});
  CHECK(blocks_with(0, 5) == std::vector<int>{9, 9, 9, 5});
  CHECK(blocks_with(15, 15) == std::vector<int>{15, 1, 1, 15});
  CHECK(blocks_with(16, 15).empty());
  CHECK_FALSE(Estimator(owned.job).limits(plan).empty());
  plan.mesh.set(Axis::pipeline, 2);
  CHECK(blocks_with(12, 20) == std::vector<int>{12, 20});
  CHECK(blocks_with(12, 19).empty());
  // The stages of the estimate begin at these blocks.
  plan.mesh.set(Axis::pipeline, 4);
  static_cast<void>(blocks_with(5, 3));
  const Estimator estimator(owned.job);
  const std::vector<int>& firsts = estimator.stages(plan);
  const std::vector<Layer>& layers = owned.job.facts.model->layers;
  REQUIRE(firsts.size() == 5);
  CHECK(layers[static_cast<std::size_t>(firsts[1])].block == 5);
  CHECK(layers[static_cast<std::size_t>(firsts[2])].block == 17);
  CHECK(layers[static_cast<std::size_t>(firsts[3])].block == 29);
}

TEST_CASE("assigned blocks divide into virtual stages if each part but the outer ones has as many") {
  const OwnedJob owned(load_model("llama3-8b@layers=30"), nodes_of_four(), Assumptions{}, 1000);
  Plan plan;
  plan.mesh.set(Axis::pipeline, 4);
  plan.global_batch = plan.micro_batches = 8;
  // The embedding and the loss count as a block: 32 blocks in 16 virtual stages.
  plan.first_stage_blocks = plan.last_stage_blocks = 7;
  CHECK(may_interleave(owned.job.facts, plan, 4));
  CHECK(may_interleave(owned.job.facts, plan, 8));
  plan.first_stage_blocks = plan.last_stage_blocks = 6;
  CHECK(may_interleave(owned.job.facts, plan, 3));
  CHECK_FALSE(may_interleave(owned.job.facts, plan, 4));
}

TEST_CASE("a last block without weights goes with the stage before") {
  const Model model = parse_model(R"(format: 1
model: tail
input: {features: 10}
layers:
  - fully_connected: 10
  - fully_connected: 10
  - residual:
      - activation: relu
)",
                                  "tail.yaml");
  const ModelFacts facts = facts_of(model);
  const std::vector<LayerTimes> times = times_of({1, 1, 5, 5});
  CHECK(balanced_stages(facts, times, 2) == std::vector<int>{0, 1, 4});
  CHECK(balanced_stages(facts, times, 3).empty());
}

/// Returns the times of four layers with weights on four stages, for 16 samples in eight micro-batches.
Breakdown four_stages(const std::vector<double>& seconds, const Assumptions& assumptions, Schedule schedule) {
  const OwnedJob owned(chain("wwww"), nodes_of_four(), assumptions, 1000, times_of(seconds));
  Plan plan;
  plan.mesh.set(Axis::pipeline, 4);
  plan.global_batch = 16;
  plan.micro_batches = 8;
  plan.schedule = schedule;
  return Estimator(owned.job).estimate(plan).time;
}

TEST_CASE("the bubble of equal stages is (p-1)/m of the compute time, with either schedule") {
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_forward_one_backward}) {
    for (const Assumptions& assumptions : {Assumptions{}, ideal_assumptions()}) {
      const Breakdown time = four_stages({3, 3, 3, 3}, assumptions, schedule);
      // Each stage takes 3 s per sample, for 2 samples, 8 times.
      CHECK((time[Part::forward] + time[Part::backward]).value() == Approx(48.0));
      CHECK(time[Part::bubble].value() == Approx(48.0 * 3 / 8));
    }
  }
}

TEST_CASE("the first micro-batch passes all stages, the others follow at the pace of the longest") {
  // Two samples take 2, 4, 12 and 6 s. The first micro-batch takes 24 s, and seven more follow at
  // intervals of 12 s. The stage of 12 s computes for 96 s.
  const Breakdown time = four_stages({1, 2, 6, 3}, Assumptions{}, Schedule::gpipe);
  CHECK((time[Part::forward] + time[Part::backward]).value() == Approx(96.0));
  CHECK(time[Part::bubble].value() == Approx(24.0 + 7 * 12 - 96));
  // The pipeline has p+S-1 = 11 slots. Each slot takes as long as the longest stage, 12 s.
  const Breakdown slots = four_stages({1, 2, 6, 3}, ideal_assumptions(), Schedule::gpipe);
  CHECK((slots[Part::forward] + slots[Part::backward] + slots[Part::bubble]).value() == Approx(132.0));
}

/// Returns the bubble of a step. The passes of each stage take these seconds: forward, gradients of
/// inputs, gradients of weights.
double bubble_of(const ScheduleOrder& order, const std::vector<std::array<double, 3>>& stages) {
  Step step;
  step.stages = static_cast<int>(stages.size());
  step.micro_batches = 16;
  step.fills_bubbles = order.fills_bubbles;
  step.transfers.resize(stages.size());
  const BubbleShares shares = order.bubble(step.stages, 1);
  for (int stage = 0; stage < step.stages; ++stage) {
    const std::array<double, 3>& own = stages[static_cast<std::size_t>(stage)];
    step.tasks.push_back({stage, false, Part::forward, 0, Term(Seconds(own[0])), shares.forward});
    step.tasks.push_back({stage, true, Part::backward, 0, Term(Seconds(own[1])), shares.input_gradient});
    step.tasks.push_back({stage, true, Part::backward, 0, Term(Seconds(own[2])), shares.weight_gradient});
  }
  return run(step, step.origin)[Part::bubble];
}

TEST_CASE("gradients of weights fill the bubble, which never becomes negative") {
  const std::array<double, 3> stage{1, 1.25, 0.75};
  const std::vector<std::array<double, 3>> equal(4, stage);
  CHECK(bubble_of(one_forward_one_backward_order, equal) == Approx(3 * 3.0));
  // The bubbles are (p-1)(F+B-W), (p-1)(B-W), and (p/2-1)(F+2B-W) [Qi24, Table 2 and section 6; DSV3, Table 2].
  CHECK(bubble_of(zero_bubble_order, equal) == Approx(3 * 1.5));
  CHECK(bubble_of(zero_bubble_v_order, equal) == Approx(3 * 0.5));
  CHECK(bubble_of(dual_pipe_order, equal) == Approx(1 * 2.75));
  // If stages differ, no stage waits for one of them: the stage for which the other stages would wait longest.
  CHECK(bubble_of(zero_bubble_order, {stage, {1, 1, 1}, {2, 2, 0.5}, stage}) == Approx(1.5 + 1.0 + 1.5));
  CHECK(bubble_of(zero_bubble_order, std::vector<std::array<double, 3>>(4, {1, 1, 3})) == 0);
}

TEST_CASE("with DualPipe, a rank has the parameters of two stages, and sums their gradients with another rank") {
  const Model model = parse_model(R"(format: 1
model: blocks
input: {features: 10}
blocks:
  one:
    checkpoint: yes
    layers: [{fully_connected: 10}]
layers:
  - block: {use: one}
  - block: {use: one}
  - block: {use: one}
  - block: {use: one}
)",
                                  "blocks.yaml");
  const OwnedJob owned(model, nodes_of_four(), Assumptions{}, 1000, times_of({3, 3, 3, 3}));
  Plan plan;
  plan.mesh.set(Axis::pipeline, 4);
  plan.global_batch = 16;
  plan.micro_batches = 8;
  const Estimator estimator(owned.job);
  const Estimate usual = estimator.estimate(plan);
  plan.schedule = Schedule::dual_pipe;
  const Estimate both = estimator.estimate(plan);
  CHECK(both.memory.weights.value() == Approx(2 * usual.memory.weights.value()));
  // While backward accumulates the gradients of a layer, they exist once more.
  CHECK((both.memory.gradients - usual.memory.gradients).value() == Approx(440));
  CHECK(usual.time[Part::gradient_exchange].value() == 0);
  // Two ranks inside a node exchange two layers of 110 parameters of 4 B, with α = 1 s and β = 1 ms/B: 2 · (1 + 880/2 ·
  // 0.001) s.
  CHECK(both.time[Part::gradient_exchange].value() == Approx(2 * 1.44));
}

TEST_CASE("stages send micro-batches forward and gradients back in p+S-2 slots each") {
  const Breakdown time = four_stages({3, 3, 3, 3}, Assumptions{}, Schedule::gpipe);
  // Inside a node, a transfer takes 1 s + 2 samples · 10 elements · 4 B · 1 ms/B. Stages send in 2 · (4 + 8 - 2) slots.
  CHECK(time[Part::pipeline].value() == Approx(20 * (1 + 0.08)));
}

}  // namespace
