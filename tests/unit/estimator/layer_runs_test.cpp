#include "estimator/layers/layer_runs.hpp"

#include <random>
#include <vector>

#include "tests/catch.hpp"

namespace {

using namespace ddl;

struct Sum {
  double value = 0;
  void add(const Sum& other, double times) { value += other.value * times; }
};

/// Returns kinds with repeated sequences, like those of a model's blocks.
std::vector<int> repetitive(std::mt19937_64& engine) {
  const auto whole = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine); };
  std::vector<int> kinds;
  for (int part = whole(1, 4); part > 0; --part) {
    std::vector<int> period(static_cast<std::size_t>(whole(1, 6)));
    for (int& kind : period) kind = whole(0, 5);
    for (int times = whole(1, 7); times > 0; --times) kinds.insert(kinds.end(), period.begin(), period.end());
  }
  return kinds;
}

TEST_CASE("equal blocks form one sequence, and layers that do not repeat form another sequence") {
  const LayerRuns runs({9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 7, 8});
  REQUIRE(runs.runs().size() == 3);
  CHECK(runs.runs()[1].first == 1);
  CHECK(runs.runs()[1].period == 3);
  CHECK(runs.runs()[1].repeats == 3);
  CHECK(runs.runs()[2].repeats == 1);
  CHECK(LayerRuns(std::vector<int>{}).runs().empty());
  CHECK(LayerRuns(std::vector<int>(1000, 4)).inner_count() == 1);
}

TEST_CASE("the sum over a sequence of equal layers equals the sum over one repetition, times the repetitions") {
  std::mt19937_64 engine(1);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<int> kinds = repetitive(engine);
    const auto count = static_cast<int>(kinds.size());
    const LayerRuns runs(kinds);
    const auto value = [&](int layer) { return Sum{static_cast<double>(1 << kinds[static_cast<std::size_t>(layer)])}; };
    RunSums<Sum> sums;
    sums.assign(runs, value);
    double before = 0;
    for (int layer = 0; layer <= count; ++layer) {
      REQUIRE(sums.before(layer).value == before);
      if (layer < count) before += value(layer).value;
    }
    REQUIRE(sums.all().value == before);

    const int first = std::uniform_int_distribution<int>(0, count - 1)(engine);
    const int last = std::uniform_int_distribution<int>(first, count)(engine);
    double walked = 0;
    int next = first;
    runs.each(first, last, [&](int from, int period, int repeats) {
      REQUIRE(from == next);
      next += period * repeats;
      for (int layer = from; layer < next; ++layer) {
        REQUIRE(kinds[static_cast<std::size_t>(layer)] == kinds[static_cast<std::size_t>(from + (layer - from) % period)]);
      }
      for (int layer = from; layer < from + period; ++layer) walked += value(layer).value * repeats;
    });
    REQUIRE(next == last);
    REQUIRE(walked == sums.before(last).value - sums.before(first).value);
  }
}

}  // namespace
