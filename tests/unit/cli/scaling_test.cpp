#include "cli/documents/scaling.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/documents/intervals.hpp"
#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "core/pareto.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace scaling_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

Json best_of(const std::vector<std::string>& arguments) { return run_command(arguments).json().at("best"); }

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const std::vector<std::string> gpt2{"recommend", "gpt2", "--machine", "dgx-a100", "--train-tokens", "10B"};

}  // namespace

TEST_CASE("each row of a scaling table equals the answer of a single call") {
  const std::vector<int> counts{8, 16, 24, 64};
  for (const std::vector<std::string>& batch :
       {std::vector<std::string>{"--global-batch", "192"}, {"--batch-per-gpu", "4"}}) {
    const Json all = run_command(with(with(gpt2, batch), {"--gpus", "8,16,24,64"})).json();
    REQUIRE(all.at("points").size() == counts.size());
    CHECK(all.at("scaling") == (batch.front() == "--global-batch" ? "strong" : "weak"));
    std::optional<double> reference;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Json& point = all.at("points").at(i);
      const Json single = best_of(with(with(gpt2, batch), {"--gpus", std::to_string(counts[i])}));
      CHECK(point.at("best") == single);
      CHECK(point.at("gpus") == counts[i]);
      // The efficiency is samples per second and GPU, relative to those of the fewest GPUs.
      const double samples = single.at("throughput").at("samples_per_s_per_gpu").get<double>();
      if (!reference) reference = samples;
      CHECK(point.at("efficiency").get<double>() == Approx(samples / *reference));
    }
  }
}

TEST_CASE("the best points meet a budget and a deadline at the upper ends of intervals, else they are likely to") {
  struct Point {
    double time = 0, cost = 0, slower = 1;  ///< the upper end of the interval, as a factor
    int gpus = 0;
  };
  std::vector<Point> points;
  for (int gpus = 1; gpus <= 128; gpus *= 2) {
    const Json single = best_of(with(gpt2, {"--gpus", std::to_string(gpus), "--global-batch", "256"}));
    const double step = single.at("time").at("iteration_s");
    points.push_back({single.at("time").at("training_s"), single.at("training_cost"),
                      single.at("interval").at("iteration_high_s").get<double>() / step, gpus});
  }
  for (const double budget : {50.0, 110.0, 160.0, 1e6}) {
    for (const double hours : {0.5, 6.0, 100.0}) {
      const Json all = run_command(with(gpt2, {"--gpus", "1..128", "--global-batch", "256", "--budget",
                                               std::to_string(budget), "--deadline", std::to_string(hours) + "h"}))
                           .json();
      const auto meets = [&](const Point& each, bool surely) {
        const double factor = surely ? each.slower : 1;
        return each.cost * factor <= budget && each.time * factor <= hours * 3600;
      };
      const bool surely = std::any_of(points.begin(), points.end(), [&](const Point& each) { return meets(each, true); });
      std::optional<std::pair<double, double>> cheapest, fastest;
      int cheapest_gpus = 0, fastest_gpus = 0;
      for (const Point& each : points) {
        if (!meets(each, surely)) continue;
        if (!cheapest || std::pair(each.cost, each.time) < *cheapest) {
          cheapest = {each.cost, each.time};
          cheapest_gpus = each.gpus;
        }
        if (!fastest || std::pair(each.time, each.cost) < *fastest) {
          fastest = {each.time, each.cost};
          fastest_gpus = each.gpus;
        }
      }
      INFO(budget << " USD, " << hours << " h");
      REQUIRE(all.at("cheapest").is_null() == !cheapest);
      REQUIRE(all.at("fastest").is_null() == !fastest);
      if (!cheapest) continue;
      CHECK(all.at("cheapest").at("gpus") == cheapest_gpus);
      CHECK(all.at("fastest").at("gpus") == fastest_gpus);
    }
  }
}

TEST_CASE("the chance of a limit is 95 % at the upper end of an interval, and 5 % at the lower end") {
  const TimeInterval interval{0.8, 1.5};
  CHECK(chance_within(1.5, interval) == Approx(0.95));
  CHECK(chance_within(1, interval) == Approx(0.5));
  CHECK(chance_within(0.8, interval) == Approx(0.05));
  CHECK(is_sure(chance_within(1.5, interval)));
  CHECK_FALSE(is_sure(chance_within(1.49, interval)));
  CHECK(is_likely(chance_within(1, interval)));
  CHECK_FALSE(is_likely(chance_within(0.99, interval)));
  CHECK(chance_within(1, std::nullopt) == 1);
  Estimate estimate;
  estimate.time[Part::forward] = Seconds(2);
  CHECK(time_within(estimate, 0.9) == Seconds(2));
  estimate.interval = interval;
  for (const double chance : {0.05, 0.3, 0.5, 0.9, 0.95, 0.99}) {
    CHECK(chance_within(time_within(estimate, chance) / Seconds(2), interval) == Approx(chance));
  }
  CHECK(time_within(estimate, 0.95).value() == Approx(2 * 1.5));
  CHECK(chance_within(0.99, std::nullopt) == 0);
  CHECK(chance_within(0, interval) == 0);
}

TEST_CASE("the Pareto front equals the result of comparing all pairs of points") {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::pair<double, double>> points;
    const int count = std::uniform_int_distribution<int>(0, 30)(random);
    // There are few different values, so that many points are equal.
    std::uniform_int_distribution<int> cost(0, 8);
    for (int i = 0; i < count; ++i) points.emplace_back(cost(random), cost(random));
    const std::vector<bool> front = pareto_front(points);
    REQUIRE(front.size() == points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool beaten = std::any_of(points.begin(), points.end(), [&](const auto& other) {
        return other.first <= points[i].first && other.second <= points[i].second && other != points[i];
      });
      CHECK(front[i] == !beaten);
    }
  }
}

TEST_CASE("a list of numbers may have commas and ranges of powers of two") {
  const auto parse = [](const char* text) { return parse_number_list("--gpus", text, 1, 4096); };
  using Numbers = std::vector<std::int64_t>;
  CHECK(parse("8") == Numbers{8});
  CHECK(parse("8,24,16") == Numbers{8, 24, 16});
  CHECK(parse("8..64") == Numbers{8, 16, 32, 64});
  CHECK(parse("8..100") == Numbers{8, 16, 32, 64});
  CHECK(parse("1,3..12,4096") == Numbers{1, 3, 6, 12, 4096});
  for (const char* const wrong :
       {"", ",", "8,", "8..", "..8", "8...16", "16..8", "0", "4097", "8,8", "8..16,16", "8x", "1e3", " 8"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse(wrong), Error);
  }
  // The largest possible number does not overflow.
  CHECK(parse_number_list("--gpus", "4611686018427387904..9223372036854775807", 1, 9223372036854775807).size() == 1);
}

TEST_CASE("an amount of money has thousands, millions and a currency") {
  UnitProblem problem;
  const auto parse = [&](const char* text) { return parse_money(text, problem); };
  CHECK(parse("10kUSD")->amount == 10'000);
  CHECK(parse("10kUSD")->currency == "USD");
  CHECK(parse("2.5 M EUR")->amount == 2'500'000);
  CHECK(parse("5000")->currency.empty());
  CHECK(parse("3 MXN")->amount == 3);  // Mexican pesos, not millions
  CHECK(parse("3MMXN")->amount == 3e6);
  for (const char* const wrong : {"", "USD", "-3USD", "0", "nan", "inf", "10xUSD", "10XYZ", "10usd", "1e30", "10kk"}) {
    INFO(wrong);
    CHECK_FALSE(parse(wrong));
    CHECK_FALSE(problem.hint.empty());
  }
}

}  // namespace scaling_tests
