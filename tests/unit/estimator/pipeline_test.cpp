#include "estimator/pipeline.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "estimator/estimate.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// A layer with weights for each 'w', an activation for each 'a'.
Model chain(const std::string& kinds) {
  std::string text = "format: 1\nmodel: chain\ninput: {features: 10}\nlayers:\n";
  for (const char kind : kinds) text += kind == 'w' ? "  - fully_connected: 10\n" : "  - activation: relu\n";
  return parse_model(text, "chain.yaml");
}

/// Forward a third, backward the rest.
std::vector<LayerTimes> times_of(const std::vector<double>& seconds) {
  std::vector<LayerTimes> times;
  for (const double time : seconds) times.push_back({Seconds(time / 3), Seconds(time * 2 / 3), Seconds()});
  return times;
}

/// The same layers, of which every second one is as long forward as it was backward.
std::vector<LayerTimes> uneven_times_of(const std::vector<double>& seconds) {
  std::vector<LayerTimes> times = times_of(seconds);
  for (std::size_t i = 1; i < times.size(); i += 2) std::swap(times[i].forward, times[i].backward);
  return times;
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

/// The shortest longest stage over all ways to cut before layers with weights, found by trying each.
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

TEST_CASE("layers are dealt so that the longest stage is as short as it can be") {
  // 9 | 1 2 3 3 are 9 and 9; any later cut has 10 and more on its left.
  CHECK(stages_of("wwwww", {9, 1, 2, 3, 3}, 2) == std::vector<int>{0, 1, 5});
  // 1 2 3 4 | 9 are 10 and 9; any earlier cut has 13 and more on its right.
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
      // Activations may come first, too.
      for (int other = whole(0, 2); other > 0; --other) kinds += 'a';
      kinds += 'w';
    }
    if (whole(0, 1) == 1) kinds += 'a';
    // Some take no time at all, some are equal.
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

TEST_CASE("there are no more stages than layers with weights") {
  CHECK(stages_of("wawa", {1, 1, 1, 1}, 2).size() == 3);
  CHECK(stages_of("wawa", {1, 1, 1, 1}, 3).empty());
}

TEST_CASE("blocks stay whole while there are enough of them") {
  // first | block of three | block of three | last
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
  // Between layers the best would be 1 1 1 | 9 1 1 1 1; between blocks it is 1 1 1 9 | 1 1 1 1.
  CHECK(balanced_stages(facts, times, 2) == std::vector<int>{0, 4, 8});
  CHECK(balanced_stages(facts, times, 4) == std::vector<int>{0, 1, 4, 7, 8});
  // Five stages need a cut inside a block: 1 | 1 1 | 9 | 1 1 | 1 1 and its like, none longer than 9.
  const std::vector<int> five = balanced_stages(facts, times, 5);
  REQUIRE(five.size() == 6);
  CHECK(std::find(five.begin(), five.end(), 3) != five.end());
  CHECK(balanced_stages(facts, times, 6).size() == 7);
  CHECK(balanced_stages(facts, times, 7).empty());
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

/// Times of four layers with weights, dealt to four stages, 16 samples in eight micro-batches.
Breakdown four_stages(const std::vector<double>& seconds, const Assumptions& assumptions, Schedule schedule) {
  const OwnedJob owned(chain("wwww"), nodes_of_four(), assumptions, 1000, times_of(seconds));
  Plan plan;
  plan.layer = 4;
  plan.global_batch = 16;
  plan.micro_batches = 8;
  plan.schedule = schedule;
  return Estimator(owned.job).estimate(plan).time;
}

TEST_CASE("the bubble of equal stages is (p-1)/m of the computing, by either schedule") {
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_forward_one_backward}) {
    for (const Assumptions& assumptions : {Assumptions{}, ideal_assumptions()}) {
      const Breakdown time = four_stages({3, 3, 3, 3}, assumptions, schedule);
      // Each stage takes 3 s a sample: 2 samples, 8 times.
      CHECK((time.forward + time.backward).value() == Approx(48.0));
      CHECK(time.bubble.value() == Approx(48.0 * 3 / 8));
    }
  }
}

TEST_CASE("the first micro-batch passes all stages, the others follow at the pace of the longest") {
  // Two samples take 2, 4, 12 and 6 s: one passes in 24, seven more follow each 12 behind. The stage of 12 works for 96.
  const Breakdown time = four_stages({1, 2, 6, 3}, Assumptions{}, Schedule::gpipe);
  CHECK((time.forward + time.backward).value() == Approx(96.0));
  CHECK(time.bubble.value() == Approx(24.0 + 7 * 12 - 96));
  // In slots of the longest, (p+S-1) of them: 11 · 12.
  const Breakdown slots = four_stages({1, 2, 6, 3}, ideal_assumptions(), Schedule::gpipe);
  CHECK((slots.forward + slots.backward + slots.bubble).value() == Approx(132.0));
}

TEST_CASE("stages send one micro-batch on and one gradient back in p+S-2 slots each way") {
  const Breakdown time = four_stages({3, 3, 3, 3}, Assumptions{}, Schedule::gpipe);
  // Inside a node: 1 s and 2 samples · 10 items · 4 B at 1 ms/B; 2 · (4 + 8 - 2) slots.
  CHECK(time.pipeline.value() == Approx(20 * (1 + 0.08)));
}

}  // namespace
