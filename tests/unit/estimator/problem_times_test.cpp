#include "estimator/kernels/problem_times.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "estimator/inputs/machine.hpp"
#include "tests/catch.hpp"

namespace {

using namespace ddl;

/// Returns a roofline of 1 TFLOP/s and 100 GB/s.
Roofline roofline() {
  Device device;
  device.peak[Precision::fp32] = FlopRate(1e12);
  device.memory_bandwidth = Bandwidth(100e9);
  return {device, Precision::fp32};
}

struct Line {
  std::string problem;
  double seconds = 0;
  double width = 0;  ///< width of the interval
};

MeasuredKernels measured(const std::vector<Line>& lines) {
  MeasuredKernels kernels;
  for (const Line& line : lines) {
    const MeasuredTime time{Seconds(line.seconds), Seconds(line.seconds - line.width / 2),
                            Seconds(line.seconds + line.width / 2)};
    if (is_update_problem(line.problem)) {
      kernels.updates.push_back({parse_update_problem(line.problem, "test"), time});
    } else {
      kernels.kernels.push_back({parse_problem(line.problem, "test"), time});
    }
  }
  return kernels;
}

ProblemTimes times(const std::vector<Line>& lines) { return {measured(lines), roofline(), Precision::fp32}; }

std::string convolution(int filters, int channels, int extent, int samples, const std::string& pass = "forward") {
  return "convolution filters=" + std::to_string(filters) + " kernel=3x3 padding=1 bias=no in=" + std::to_string(channels) +
         "x" + std::to_string(extent) + "x" + std::to_string(extent) + " samples=" + std::to_string(samples) +
         " precision=fp32 pass=" + pass;
}

KernelCost cost_of(const ProblemTimes& times, const std::string& line) {
  return is_update_problem(line) ? times.cost(parse_update_problem(line, "test")) : times.cost(parse_problem(line, "test"));
}

double ratio(const ProblemTimes& times, const std::string& line) {
  const Problem problem = parse_problem(line, "test");
  return times.cost(problem).time / times.roofline(problem);
}

TEST_CASE("updates of lists are predicted from lists of the same implementation, and updates of layers from layers") {
  const std::string layer = "update optimizer=adam parameters=1000000 precision=fp32";
  const std::string list = "update optimizer=adam parameters=1000000 tensors=10 implementation=foreach precision=fp32";
  const std::string other = "update optimizer=adam parameters=1000000 tensors=10 implementation=fused precision=fp32";
  // At 100 GB/s, the 28 MB of a layer take 0.28 ms, and the 72 MB of a list take 0.72 ms.
  const ProblemTimes both = times({{layer, 0.28e-3 * 2}, {list, 0.72e-3 * 3}});
  CHECK(cost_of(both, layer).time.value() == Approx(0.56e-3));
  CHECK(cost_of(both, list).time.value() == Approx(2.16e-3));
  const auto at = [](const std::string& text, const std::string& parameters) {
    return "update optimizer=adam parameters=" + parameters + text.substr(text.find("000 ") + 3);
  };
  CHECK(cost_of(both, at(layer, "4000000")).time.value() == Approx(4 * 0.56e-3));
  CHECK(cost_of(both, at(list, "4000000")).time.value() == Approx(4 * 2.16e-3));
  // An implementation that was not measured has the device's efficiency in other updates.
  const KernelCost fused = cost_of(both, other);
  CHECK(fused.source == Provenance::curve);
  CHECK(fused.time.value() > 0.28e-3 * 2 * 0.99);
  CHECK(fused.time.value() < 0.28e-3 * 3 * 1.01);
}

TEST_CASE("scratch memory is that of the same problem, or lies between that of the nearest problem and a share of it") {
  MeasuredKernels kernels = measured({{convolution(64, 64, 56, 4), 3e-3},
                                      {convolution(64, 64, 56, 16), 1e-2},
                                      {convolution(64, 64, 56, 16), 1e-2, 1e-4},
                                      {"activation kind=relu in=64x56x56 samples=4 precision=fp32 pass=forward", 1e-4}});
  kernels.kernels[0].workspace = Bytes(4e6);
  // The problem was measured twice. The more precise time is used, and the scratch memory of either measurement.
  kernels.kernels[2].workspace = Bytes(8e6);
  const ProblemTimes known(kernels, roofline(), Precision::fp32);
  const auto of = [&](const std::string& line) { return cost_of(known, line).workspace; };
  CHECK(of(convolution(64, 64, 56, 4)).expected.value() == 4e6);
  CHECK(of(convolution(64, 64, 56, 4)).most.value() == 4e6);
  CHECK(of(convolution(64, 64, 56, 4)).source == Provenance::measured);
  CHECK(of(convolution(64, 64, 56, 16)).expected.value() == 8e6);
  // Twice as many samples move twice as many tensor elements, but the same 36,864 weights. 16 samples move 2 · 16 · 200,704
  // elements.
  const double share = (2 * 32 * 200704.0 + 36864) / (2 * 16 * 200704.0 + 36864);
  CHECK(of(convolution(64, 64, 56, 32)).expected.value() == 8e6);
  CHECK(of(convolution(64, 64, 56, 32)).most.value() == Approx(8e6 * share));
  CHECK(of(convolution(64, 64, 56, 32)).source == Provenance::interpolated);
  // Fewer samples may need less scratch memory.
  CHECK(of(convolution(64, 64, 56, 2)).most.value() == 4e6);
  CHECK(of(convolution(64, 64, 56, 2)).expected.value() == Approx(2e6).epsilon(0.03));
  // The first problem was timed without scratch memory, and the second was not measured at all.
  CHECK(of("activation kind=relu in=64x56x56 samples=4 precision=fp32 pass=forward").source == Provenance::roofline);
  CHECK(of(convolution(64, 64, 56, 4, "backward-data")).source == Provenance::roofline);
  CHECK(of(convolution(64, 64, 56, 4, "backward-data")).most.value() == 0);
}

TEST_CASE("a measured problem takes its measured time") {
  const std::vector<Line> lines{{convolution(64, 64, 56, 1), 1e-3},
                                {convolution(64, 64, 56, 4), 3e-3},
                                {convolution(32, 64, 56, 4), 2e-3},
                                {"update optimizer=sgd parameters=36864 precision=fp32", 7e-6}};
  const ProblemTimes known = times(lines);
  for (const Line& line : lines) {
    REQUIRE(cost_of(known, line.problem).time.value() == line.seconds);
    REQUIRE(cost_of(known, line.problem).source == Provenance::measured);
  }
}

TEST_CASE("the more precise of two measurements of one problem is used") {
  const std::string line = convolution(64, 64, 56, 1);
  REQUIRE(cost_of(times({{line, 1e-3, 1e-4}, {line, 2e-3, 1e-5}}), line).time.value() == 2e-3);
  REQUIRE(cost_of(times({{line, 1e-3, 1e-4}, {line, 2e-3, 1e-3}}), line).time.value() == 1e-3);
}

// The efficiencies are 1 and 4 at one and 16 samples. At four samples, in the middle of the logarithms, the efficiency is 2.
TEST_CASE("between two batches log(time/roofline) is linear in log(samples)") {
  const ProblemTimes known = times({{convolution(64, 64, 56, 1), 1}, {convolution(64, 64, 56, 16), 4}});
  const double at_one = ratio(known, convolution(64, 64, 56, 1));
  const double at_sixteen = ratio(known, convolution(64, 64, 56, 16));
  const KernelCost between = cost_of(known, convolution(64, 64, 56, 4));
  REQUIRE(between.source == Provenance::interpolated);
  REQUIRE(ratio(known, convolution(64, 64, 56, 4)) == Approx(std::sqrt(at_one * at_sixteen)));
}

TEST_CASE("times are interpolated between neighbors along filters, channels, extents, or several at once") {
  const auto is_between = [](const std::string& small, const std::string& middle, const std::string& large) {
    const ProblemTimes known = times({{small, 1e-3}, {large, 5e-3}});
    INFO(middle);
    const KernelCost own = cost_of(known, middle);
    CHECK(own.source == Provenance::interpolated);
    CHECK(own.time.value() >= 1e-3);
    CHECK(own.time.value() <= 5e-3);
    const auto [least, most] = std::minmax({ratio(known, small), ratio(known, large)});
    CHECK(ratio(known, middle) >= least * (1 - 1e-12));
    CHECK(ratio(known, middle) <= most * (1 + 1e-12));
  };
  is_between(convolution(16, 64, 56, 1), convolution(24, 64, 56, 1), convolution(64, 64, 56, 1));
  is_between(convolution(64, 16, 56, 1), convolution(64, 32, 56, 1), convolution(64, 64, 56, 1));
  is_between(convolution(64, 64, 14, 1), convolution(64, 64, 28, 1), convolution(64, 64, 56, 1));
  is_between(convolution(16, 16, 56, 1), convolution(32, 32, 56, 1), convolution(64, 64, 56, 1));
  const auto heads = [](int count) {
    return "attention heads=" + std::to_string(count) + " in=" + std::to_string(192 * count) +
           "x128t samples=1 precision=fp32 pass=forward";
  };
  is_between(heads(2), heads(4), heads(16));
  const auto groups = [](int count) {
    const std::string text = std::to_string(count);
    return "convolution filters=" + text + " kernel=3x3 padding=1 groups=" + text + " bias=no in=" + text +
           "x28x28 samples=1 precision=fp32 pass=forward";
  };
  is_between(groups(32), groups(64), groups(256));
  const auto update = [](int count) { return "update optimizer=adam parameters=" + std::to_string(count); };
  const ProblemTimes updates = times({{update(1000), 1e-6}, {update(16000), 8e-6}});
  const KernelCost own = cost_of(updates, update(4000));
  CHECK(own.source == Provenance::interpolated);
  // Per byte, the larger measured update takes half as long as the smaller one. The interpolated update has four times the
  // bytes of the smaller one, and the geometric mean of both times per byte.
  CHECK(own.time.value() == Approx(4e-6 * std::sqrt(0.5)));
}

/// The interpolation between two neighbors, implemented by trying every pair of the 128 nearest problems.
class SimpleSearch {
 public:
  explicit SimpleSearch(const std::vector<Line>& lines) : known_(times(lines)) {
    for (const Line& line : lines) {
      if (line.seconds <= 0) continue;
      Place place = place_of(line.problem);
      const double roofline = known_.roofline(parse_problem(line.problem, "test")).value();
      points_.push_back({place, line.seconds, roofline, std::log(line.seconds / roofline)});
    }
  }
  [[nodiscard]] const ProblemTimes& known() const { return known_; }

  /// Returns the interpolated time; negative if the problem is not between any two problems.
  [[nodiscard]] double between(const std::string& line) const {
    const Place asked = place_of(line);
    const double roofline = known_.roofline(parse_problem(line, "test")).value();
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Place step = minus(points_[i].place, asked);
      order.emplace_back(product(step, step), i);
    }
    std::sort(order.begin(), order.end());
    if (order.size() > 128) order.resize(128);
    if (std::sqrt(order.front().first) < 0.05) return roofline * std::exp(points_[order.front().second].ratio);
    double shortest = std::numeric_limits<double>::infinity();
    double seconds = -1;
    for (std::size_t far = 0; far < order.size(); ++far) {
      for (std::size_t close = 0; close < far; ++close) {
        const Point& a = points_[order[close].second];
        const Point& b = points_[order[far].second];
        const Place to_a = minus(a.place, asked);
        const Place whole = minus(b.place, a.place);
        const double length = std::sqrt(product(whole, whole));
        if (length >= shortest) continue;
        const double part = -product(to_a, whole) / (length * length);
        if (part <= 0 || part >= 1) continue;
        Place away{};
        for (std::size_t i = 0; i < away.size(); ++i) away[i] = to_a[i] + part * whole[i];
        if (product(away, away) > 0.05 * 0.05) continue;
        shortest = length;
        seconds = roofline * std::exp(a.ratio + part * (b.ratio - a.ratio));
        if (roofline < std::min(a.roofline, b.roofline) || roofline > std::max(a.roofline, b.roofline)) continue;
        seconds = std::clamp(seconds, std::min(a.seconds, b.seconds), std::max(a.seconds, b.seconds));
        seconds = std::clamp(seconds, roofline * std::exp(std::min(a.ratio, b.ratio)),
                             roofline * std::exp(std::max(a.ratio, b.ratio)));
      }
    }
    return seconds;
  }

 private:
  /// The samples, filters, channels, rows and columns of a problem.
  using Place = std::array<double, 5>;
  struct Point {
    Place place{};
    double seconds = 0, roofline = 0, ratio = 0;
  };

  static Place place_of(const std::string& line) {
    const Problem problem = parse_problem(line, "test");
    const std::array<std::int64_t, 5> sizes{problem.samples, problem.output.channels, problem.inputs.front().channels,
                                            problem.output.extent[0], problem.output.extent[1]};
    Place place{};
    for (std::size_t i = 0; i < sizes.size(); ++i) place[i] = std::log2(static_cast<double>(sizes[i]));
    return place;
  }
  static Place minus(const Place& a, const Place& b) {
    Place result{};
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = a[i] - b[i];
    return result;
  }
  static double product(const Place& a, const Place& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

  ProblemTimes known_;
  std::vector<Point> points_;
};

TEST_CASE("interpolated times equal those of a search through all pairs of neighbors") {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same sets every time
  // The values have few common factors, so that distances are equal only up to rounding.
  const auto one_of = [&random](std::initializer_list<int> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  const auto any = [&] {
    return convolution(one_of({16, 23, 31, 33, 64}), one_of({8, 13, 19, 32}), one_of({7, 14, 14, 29}),
                       one_of({1, 2, 3, 5, 8, 17}));
  };
  int between = 0, beyond = 0;
  for (const int count : {1, 2, 5, 20, 60, 200}) {
    for (int set = 0; set < 12; ++set) {
      std::vector<Line> lines;
      std::set<std::string> seen;
      for (int i = 0; i < count; ++i) {
        const double seconds = std::uniform_int_distribution(0, 9)(random) == 0
                                   ? 0.0
                                   : std::exp(std::uniform_real_distribution(-9.0, -3.0)(random));
        if (std::string line = any(); seen.insert(line).second) lines.push_back({std::move(line), seconds});
      }
      lines.push_back({convolution(23, 13, 9, 3), 1e-3});  // a problem that takes time
      seen.insert(lines.back().problem);
      const SimpleSearch simple(lines);
      for (int i = 0; i < 40; ++i) {
        const std::string line = any();
        if (seen.contains(line)) continue;
        const KernelCost own = cost_of(simple.known(), line);
        const double expected = simple.between(line);
        INFO(line << " in set " << set << " of " << count);
        CHECK((own.source == Provenance::interpolated) == (expected >= 0));
        if (expected >= 0) CHECK(own.time.value() == Approx(expected).epsilon(1e-9));
        (expected >= 0 ? between : beyond) += 1;
      }
    }
  }
  CHECK(between > 200);
  CHECK(beyond > 200);
}

TEST_CASE("a tile with halo rows takes the time of the same tile with padding") {
  const ProblemTimes known = times({{convolution(16, 8, 32, 1), 1e-3}});
  const KernelCost tile =
      cost_of(known, "convolution filters=16 kernel=3x3 padding=0 bias=no in=8x34x34 samples=1 precision=fp32 pass=forward");
  CHECK(tile.source == Provenance::interpolated);
  CHECK(tile.time.value() == Approx(1e-3).epsilon(0.1));
}

TEST_CASE("a problem with another window, pass or kind is not a neighbor") {
  const ProblemTimes known = times({{convolution(64, 64, 56, 1), 1e-3}, {convolution(64, 64, 56, 16), 9e-3}});
  CHECK(cost_of(known, convolution(64, 64, 56, 4, "backward-data")).source == Provenance::curve);
  CHECK(cost_of(known, "convolution filters=64 kernel=1x1 bias=no in=64x56x56 samples=4").source == Provenance::curve);
  CHECK(cost_of(known, "activation kind=relu in=64x56x56 samples=4").source == Provenance::curve);
}

TEST_CASE("a curve stays in the measured range, and comes from the nearest related problems") {
  const std::string relu = "activation kind=relu in=64x56x56 samples=";
  const ProblemTimes known = times({{convolution(64, 64, 56, 1), 2e-3},
                                    {convolution(64, 64, 56, 2), 3e-3},
                                    {convolution(64, 64, 56, 2, "backward-weight"), 9e-3},
                                    {relu + "1", 5e-3}});
  const double one = ratio(known, convolution(64, 64, 56, 1));
  const double two = ratio(known, convolution(64, 64, 56, 2));
  REQUIRE(two < one);
  for (const int samples : {3, 64, 4096}) {
    const double far = ratio(known, convolution(64, 64, 56, samples));
    CHECK(far >= two);
    CHECK(far <= one);
    // The nearest problem has the largest weight.
    CHECK(std::log(far / two) < 0.5 * std::log(one / two));
  }
  // The problems are another kernel of the same pass, and another pass of the same operation.
  const double kin = ratio(known, "convolution filters=64 kernel=5x5 padding=2 bias=no in=64x56x56 samples=1");
  CHECK(kin >= two);
  CHECK(kin <= one);
  CHECK(ratio(known, relu + "1 pass=backward-data") == Approx(ratio(known, relu + "1")));
  // No optimizer was measured, so all data is used.
  const KernelCost update = cost_of(known, "update optimizer=sgd parameters=100000");
  CHECK(update.source == Provenance::curve);
  CHECK(update.time.value() > 0);
}

TEST_CASE("no predicted time is below its family's smallest ratio to the roofline") {
  std::vector<Line> lines;
  for (const int filters : {8, 64}) {
    for (const int samples : {1, 4, 16})
      lines.push_back({convolution(filters, 64, 56, samples), 1e-4 * std::sqrt(filters * samples)});
  }
  const ProblemTimes known = times(lines);
  const double least = known.least_ratio(parse_problem(convolution(64, 64, 56, 1), "test"));
  for (const int filters : {1, 8, 20, 64, 512}) {
    for (const int samples : {1, 2, 3, 16, 100})
      CHECK(ratio(known, convolution(filters, 64, 56, samples)) >= least * (1 - 1e-12));
  }
}

TEST_CASE("more samples, filters or channels never take less time, if the measurements show that") {
  std::vector<Line> lines;
  for (const int filters : {16, 32, 64}) {
    for (const int samples : {1, 4, 16})
      lines.push_back({convolution(filters, 64, 28, samples), 3e-6 * (9 + filters * samples)});
  }
  const ProblemTimes known = times(lines);
  for (const int filters : {16, 20, 24, 32, 48, 64}) {
    double before = 0;
    for (const int samples : {1, 2, 3, 4, 6, 8, 12, 16}) {
      const double own = cost_of(known, convolution(filters, 64, 28, samples)).time.value();
      INFO(filters << " filters, " << samples << " samples");
      CHECK(own >= before);
      before = own;
    }
  }
}

TEST_CASE("kernels that took no time at any measured size take no time at other sizes, and are not part of a curve") {
  const std::string norm = "norm kind=batch in=64x56x56 samples=";
  const std::string drop = "dropout rate=0.5 in=64x56x56 samples=";
  const ProblemTimes known = times({{norm + "1", 1e-3}, {drop + "1", 0}});
  CHECK(cost_of(known, drop + "1").time.value() == 0);
  CHECK(cost_of(known, drop + "1").source == Provenance::measured);
  CHECK(cost_of(known, drop + "8").time.value() == 0);
  CHECK(cost_of(known, "softmax in=1000 samples=4").time.value() > 0);
}

TEST_CASE("kernels measured in another precision are not used") {
  const MeasuredKernels kernels = measured({{convolution(64, 64, 56, 1), 1e-3}});
  CHECK(ProblemTimes(kernels, roofline(), Precision::fp16).empty());
  CHECK_FALSE(ProblemTimes(kernels, roofline(), Precision::fp32).empty());
}

TEST_CASE("a step longer than its kernels gives a launch overhead, and a shorter step gives a factor") {
  // The overheads are (110 − 100)/5 and (60 − 40)/5 us per kernel, 3 us on average.
  const StepOverhead slow = overhead_of({{Seconds(110e-6), Seconds(100e-6), 5}, {Seconds(60e-6), Seconds(40e-6), 5}});
  CHECK(slow.per_kernel.value() == Approx(3e-6));
  CHECK(slow.factor == 1);
  const StepOverhead quick = overhead_of({{Seconds(90e-6), Seconds(100e-6), 5}, {Seconds(45e-6), Seconds(50e-6), 5}});
  CHECK(quick.per_kernel.value() == 0);
  CHECK(quick.factor == Approx(0.9));
  CHECK(overhead_of({}).factor == 1);
}

TEST_CASE("updates of several models determine both a factor and a launch overhead") {
  const auto phase = [](double kernels, double count, double factor, double start) {
    return MeasuredPhase{Seconds(factor * kernels + start * count), Seconds(kernels), count};
  };
  const StepOverhead both =
      overhead_of_one_kind({phase(20e-3, 160, 1.2, 15e-6), phase(3e-3, 150, 1.2, 15e-6), phase(90e-3, 30, 1.2, 15e-6)});
  CHECK(both.factor == Approx(1.2));
  CHECK(both.per_kernel.value() == Approx(15e-6));
  // If many kernels take less than their separate times, the launch overhead would be negative.
  // With an overhead of zero, (f − 1)² + (2f − 1)² is minimal at 3/5.
  const StepOverhead none =
      overhead_of_one_kind({{Seconds(10e-3), Seconds(10e-3), 10}, {Seconds(5e-3), Seconds(10e-3), 1000}});
  CHECK(none.per_kernel.value() == 0);
  CHECK(none.factor == Approx(0.6));
  // One model, in one or more sizes, does not determine both values.
  const StepOverhead one =
      overhead_of_one_kind({{Seconds(110e-6), Seconds(100e-6), 5}, {Seconds(120e-6), Seconds(100e-6), 5}});
  CHECK(one.per_kernel.value() == Approx(3e-6));
  CHECK(one.factor == 1);
  CHECK(overhead_of_one_kind({}).factor == 1);
}

TEST_CASE("first touches of memory do not count as overhead") {
  // Of 130 us, 20 us are first touches, and kernels take 100 us. The overhead is 2 us for each of the five kernels.
  const StepOverhead slow = overhead_of({{Seconds(130e-6), Seconds(100e-6), 5, Seconds(20e-6)}});
  CHECK(slow.per_kernel.value() == Approx(2e-6));
  // Without first touches, the whole phase takes less than its kernels.
  const StepOverhead quick = overhead_of({{Seconds(110e-6), Seconds(100e-6), 5, Seconds(20e-6)}});
  CHECK(quick.per_kernel.value() == 0);
  CHECK(quick.factor == Approx(0.9));
  // No time is left for kernels, so nothing is known about them.
  CHECK(overhead_of({{Seconds(20e-6), Seconds(10e-6), 5, Seconds(20e-6)}}).factor == 1);
}

}  // namespace
