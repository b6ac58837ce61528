#include "estimator/inputs/measured_exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "estimator/exchanges/exchange.hpp"
#include "tests/catch.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// Returns a curve of sizes that double from 1 KiB to 1 GiB.
MeasuredCurve curve_of(Collective operation, int ranks, int nodes, const std::function<double(double)>& seconds) {
  MeasuredCurve curve{.operation = operation, .ranks = ranks, .nodes = nodes};
  for (int power = 10; power <= 30; ++power) {
    const double bytes = std::exp2(power);
    curve.points.push_back({Bytes(bytes), Seconds(seconds(bytes))});
  }
  return curve;
}

constexpr double alpha = 20e-6, beta = 1e-10;

double ring(double bytes, double ranks) { return 2 * (ranks - 1) * std::max(alpha, bytes / ranks * beta); }
double tree(double bytes, double nodes) { return 2 * std::log2(nodes) * alpha + bytes * beta; }
double pairs(double bytes, double ranks, double nodes) { return (ranks - 1) * alpha + bytes * (nodes - 1) / nodes * beta; }

double time_of(const MeasuredExchanges& measured, Collective operation, double bytes, double ranks, double nodes) {
  const auto time = measured.time(operation, Bytes(bytes), ranks, nodes);
  REQUIRE(time);
  return time->value();
}

}  // namespace

TEST_CASE("a measured curve interpolates its points, is constant below them, and grows above them") {
  const MeasuredCurve curve{.points = {{Bytes(1024), Seconds(1)}, {Bytes(4096), Seconds(4)}, {Bytes(8192), Seconds(2)}}};
  CHECK(curve.at(Bytes(1)) == Seconds(1));
  CHECK(curve.at(Bytes(1024)) == Seconds(1));
  CHECK(curve.at(Bytes(2048)).value() == Approx(2));  // halfway in the logarithms of size and time
  CHECK(curve.at(Bytes(4096)) == Seconds(4));
  CHECK(curve.at(Bytes(8192)) == Seconds(2));          // libraries change their protocol: larger messages may be faster
  CHECK(curve.at(Bytes(32768)).value() == Approx(8));  // proportional: the last time is shorter than the time before
  const MeasuredCurve line{.points = {{Bytes(1000), Seconds(11)}, {Bytes(2000), Seconds(12)}}};
  CHECK(line.at(Bytes(10000)).value() == Approx(20));  // ten seconds of start-up, and one second per 1,000 bytes
}

TEST_CASE("measured sizes and counts are predicted as measured") {
  const MeasuredExchanges measured({curve_of(Collective::allreduce, 16, 4, [](double m) { return ring(m, 16); }),
                                    curve_of(Collective::allreduce, 64, 16, [](double m) { return ring(m, 64); })});
  for (const MeasuredCurve& curve : measured.curves()) {
    for (const MeasuredCurve::Point& point : curve.points) {
      CHECK(measured.time(curve.operation, point.message, curve.ranks, curve.nodes) == point.time);
      const auto prediction = measured.predict(curve.operation, point.message, curve.ranks, curve.nodes);
      REQUIRE(prediction);
      CHECK_FALSE((prediction->beyond_counts || prediction->beyond_sizes));
      CHECK((prediction->low < point.time && point.time < prediction->high));
    }
  }
}

TEST_CASE("the spread of a count between two measured counts is between their spreads") {
  std::vector<MeasuredCurve> curves{curve_of(Collective::allreduce, 8, 2, [](double m) { return ring(m, 8); }),
                                    curve_of(Collective::allreduce, 32, 8, [](double m) { return ring(m, 32); })};
  CHECK_FALSE(MeasuredExchanges(curves).has_spread());
  curves[0].spread = 1.21;
  const MeasuredExchanges measured(curves);
  CHECK(measured.has_spread());
  CHECK(measured.spread(Collective::allreduce, 8, 2) == Approx(1.21));
  CHECK(measured.spread(Collective::allreduce, 32, 8) == Approx(1));
  CHECK(measured.spread(Collective::allreduce, 16, 4) == Approx(1.1));  // halfway in the logarithm of the number of nodes
  CHECK(measured.spread(Collective::all_to_all, 8, 2) == 1);
}

TEST_CASE("a ring predicts rings among fewer and more nodes") {
  const MeasuredExchanges measured({curve_of(Collective::allreduce, 64, 16, [](double m) { return ring(m, 64); }),
                                    curve_of(Collective::allgather, 64, 16, [](double m) { return ring(m, 64) / 2; })});
  // Either bytes limit the rounds, or start-ups limit the rounds and a ring has fewer start-ups than a tree that takes as
  // long.
  for (const double bytes : {1e8, 3e8, 1e9}) {
    for (const double nodes : {2.0, 8.0, 32.0}) {
      INFO(bytes << " bytes, " << nodes << " nodes");
      CHECK(time_of(measured, Collective::allgather, bytes, 4 * nodes, nodes) ==
            Approx(ring(bytes, 4 * nodes) / 2).epsilon(0.05));
      CHECK(time_of(measured, Collective::reduce_scatter, bytes, 4 * nodes, nodes) ==
            Approx(ring(bytes, 4 * nodes) / 2).epsilon(0.05));
    }
  }
  CHECK(time_of(measured, Collective::allreduce, 1e9, 128, 32) == Approx(ring(1e9, 128)).epsilon(0.05));
}

TEST_CASE("a tree predicts trees among fewer and more nodes") {
  const MeasuredExchanges measured({curve_of(Collective::allreduce, 64, 16, [](double m) { return tree(m, 16); })});
  for (const double bytes : {4e3, 1e5, 1e6}) {
    INFO(bytes << " bytes");
    // A ring of 16 times as many ranks would have 16 times as many rounds.
    CHECK(time_of(measured, Collective::allreduce, bytes, 1024, 256) == Approx(tree(bytes, 256)).epsilon(0.05));
  }
}

TEST_CASE("pairwise exchanges predict other counts by the bytes that leave a node") {
  const auto measured_on = [](int nodes) {
    return curve_of(Collective::all_to_all, 4 * nodes, nodes, [nodes](double m) { return pairs(m, 4 * nodes, nodes); });
  };
  const MeasuredExchanges measured({measured_on(2), measured_on(64)});
  for (const double bytes : {1e5, 1e7, 1e9}) {
    for (const double nodes : {4.0, 16.0, 128.0}) {
      INFO(bytes << " bytes, " << nodes << " nodes");
      CHECK(time_of(measured, Collective::all_to_all, bytes, 4 * nodes, nodes) ==
            Approx(pairs(bytes, 4 * nodes, nodes)).epsilon(0.1));
    }
  }
}

TEST_CASE("measurements with other ranks per node, of other operations, or of bandwidth tests are not used") {
  MeasuredCurve window = curve_of(Collective::allreduce, 8, 2, [](double m) { return m * beta; });
  window.window = 64;
  const MeasuredExchanges measured({curve_of(Collective::allreduce, 16, 4, [](double m) { return ring(m, 16); }), window});
  CHECK(measured.time(Collective::allreduce, 1_MiB, 8, 2));
  CHECK_FALSE(measured.time(Collective::allreduce, 1_MiB, 4, 4));
  CHECK_FALSE(measured.time(Collective::allreduce, 1_MiB, 4, 1));
  CHECK_FALSE(measured.time(Collective::all_to_all, 1_MiB, 16, 4));
  CHECK_FALSE(measured.time(Collective::allreduce, 1_MiB, 1, 1));
  CHECK(measured.predict(Collective::allreduce, 1_MiB, 8, 2)->beyond_counts);
  CHECK(measured.predict(Collective::allreduce, 8_GiB, 16, 4)->beyond_sizes);
  CHECK_FALSE(MeasuredExchanges().time(Collective::allreduce, 1_MiB, 4, 1));
}

TEST_CASE("no time is below the bound per byte, and intervals contain their prediction") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> logarithm(-16, 0);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<MeasuredCurve> curves;
    for (const Collective operation : {Collective::allreduce, Collective::allgather, Collective::all_to_all}) {
      for (const int nodes : {1, 2, 8, 64}) {
        curves.push_back(curve_of(operation, 4 * nodes, nodes, [&](double) { return std::exp(logarithm(random)); }));
      }
    }
    const MeasuredExchanges measured(std::move(curves));
    for (const Collective operation :
         {Collective::allreduce, Collective::allgather, Collective::reduce_scatter, Collective::all_to_all}) {
      for (const double nodes : {1.0, 2.0, 3.0, 8.0, 40.0, 300.0}) {
        const double ranks = 4 * nodes;
        const SecondsPerByte least = *measured.least_per_byte(operation, ranks, nodes);
        CHECK(measured.least_per_byte() * (operation == Collective::allreduce ? 2.0 : 1.0) <= least);
        for (double bytes = 100; bytes < 1e11; bytes *= 3.7) {
          const auto prediction = measured.predict(operation, Bytes(bytes), ranks, nodes);
          REQUIRE(prediction);
          CHECK(prediction->time == measured.time(operation, Bytes(bytes), ranks, nodes));
          CHECK(prediction->time.value() >= bytes * least.value() * (1 - 1e-12));
          CHECK((prediction->low < prediction->time && prediction->time < prediction->high));
        }
      }
    }
  }
}

TEST_CASE("the error of predictions comes from leaving out each node count in turn") {
  const auto measured_on = [](int nodes, double factor) {
    return curve_of(Collective::allgather, 4 * nodes, nodes,
                    [=](double m) { return factor * (4 * nodes - 1) * std::max(alpha, m / (4 * nodes) * beta); });
  };
  const MeasuredExchanges exact({measured_on(2, 1), measured_on(8, 1), measured_on(32, 1)});
  REQUIRE(exact.left_out_error());
  CHECK(*exact.left_out_error() < 0.01);
  const MeasuredExchanges off({measured_on(2, 1), measured_on(8, 1.25), measured_on(32, 1)});
  CHECK(*off.left_out_error() == Approx(0.2).margin(0.02));  // 1/1.25 − 1
  CHECK_FALSE(MeasuredExchanges({measured_on(2, 1), measured_on(8, 1)}).left_out_error());
}

TEST_CASE(
    "an exchange that was measured takes the measured time, learned factors apply to it, and others keep their links") {
  Coefficients coefficients;
  coefficients.exchanges = MeasuredExchanges({curve_of(Collective::allreduce, 32, 8, [](double m) { return ring(m, 32); })});
  const Machine machine = nodes_of_four();
  const Assumptions assumptions;
  Plan plan;
  plan.mesh.set(Axis::data, 32);
  const ExchangeTimes times(plan, machine, coefficients, assumptions);
  constexpr Family data = family_bit(Axis::data);
  const auto priced = times.fastest(Collective::allreduce, 1_MiB, data, Purpose::gradient);
  CHECK(priced.algorithm == "measured");
  CHECK(priced.time.value() == Approx(ring(1 << 20, 32)));
  CHECK(times.allreduce(1_MiB, data, Purpose::gradient).measured);
  CHECK(times.is_measured(data, Purpose::gradient));
  CHECK(times.startup(Collective::allreduce, 1_KiB, data, Purpose::gradient).value() ==
        Approx(ring(1024, 32)).epsilon(0.01));
  CHECK(times.startup(Collective::allreduce, 1_GiB, data, Purpose::gradient).value() < 1e-6);
  // Neither an Allgather nor another number of ranks per node was measured.
  CHECK(times.fastest(Collective::allgather, 1_MiB, data, Purpose::layer).algorithm != "measured");
  // A prescribed algorithm, or a plain ring, uses the formulas.
  Assumptions asked;
  asked.allreduce = AllreduceAlgorithm::tree;
  CHECK(ExchangeTimes(plan, machine, coefficients, asked)
            .fastest(Collective::allreduce, 1_MiB, data, Purpose::gradient)
            .algorithm == "tree");
  CHECK_FALSE(ExchangeTimes(plan, machine, coefficients, ideal_assumptions()).is_measured(data, Purpose::gradient));
  // Fitted factors scale start-ups and bytes.
  Learned learned;
  learned[Coefficient::gradient_alpha] = 3;
  learned[Coefficient::gradient_beta] = 2;
  Coefficients fitted = coefficients;
  fitted.learned.emplace_back(plan.mesh.family(), learned);
  const ExchangeTimes dearer(plan, machine, fitted, assumptions);
  CHECK(dearer.time(Collective::allreduce, 1_KiB, data, Purpose::gradient).value() ==
        Approx(3 * ring(1024, 32)).epsilon(0.01));
  CHECK(dearer.time(Collective::allreduce, 1_GiB, data, Purpose::gradient).value() ==
        Approx(2 * ring(1 << 30, 32)).epsilon(0.01));
  // Repetitions lengthen the time by their spread, and other jobs by their effect, whichever is larger.
  Coefficients repeated = coefficients;
  MeasuredCurve curve = coefficients.exchanges.curves().front();
  curve.spread = 1.2;
  repeated.exchanges = MeasuredExchanges({curve});
  Assumptions slow;
  slow.congestion_quantile = 2;
  const auto time_with = [&](const Coefficients& of, const Assumptions& with) {
    return ExchangeTimes(plan, machine, of, with).time(Collective::allreduce, 1_MiB, data, Purpose::gradient).value();
  };
  CHECK(time_with(repeated, assumptions) == Approx(ring(1 << 20, 32)));
  CHECK(time_with(repeated, slow) == Approx(1.44 * ring(1 << 20, 32)));
  CHECK(time_with(coefficients, slow) == Approx(ring(1 << 20, 32)));
  repeated.congestion.push_back({"system", 1, 1.5, ""});
  CHECK(time_with(repeated, slow) == Approx(2.25 * ring(1 << 20, 32)));
  // Four groups of one rank per node each share the node's links. A benchmark of one group does not measure this.
  Plan four = plan;
  four.mesh = Mesh{{Axis::data, 8}, {Axis::filter, 4}};
  four.placement = all_axes;
  std::swap(four.placement[0], *std::find(four.placement.begin(), four.placement.end(), Axis::filter));
  CHECK_FALSE(ExchangeTimes(four, machine, coefficients, assumptions).is_measured(data, Purpose::gradient));
}

TEST_CASE("between two sizes a message takes a start-up time and a time per byte, and a bend widens the interval") {
  // One line joins 10 us + m / 1 GB/s. From 1 MB on, the time per byte is twice as long.
  MeasuredCurve line{.ranks = 8, .nodes = 2};
  MeasuredCurve bent = line;
  for (const double bytes : {1e3, 1e4, 1e5, 1e6, 1e7}) {
    line.points.push_back({Bytes(bytes), Seconds(10e-6 + bytes / 1e9), {}});
    bent.points.push_back({Bytes(bytes), Seconds(10e-6 + bytes / 1e9 + std::max(0.0, bytes - 1e6) / 1e9), {}});
  }
  CHECK(line.at(Bytes(3e5)).value() == Approx(310e-6));
  CHECK(line.size_doubt(Bytes(3e5)).shorter == Approx(0).margin(1e-12));
  CHECK(bent.size_doubt(Bytes(3e5)).shorter > 0.1);
  CHECK(bent.size_doubt(Bytes(1e6)).shorter == 0);
  CHECK(bent.size_doubt(Bytes(5e7)).longer == 0);
  // No time is shorter than the times of both sizes.
  for (const double bytes : {1.1e5, 3e5, 9e5}) {
    const MeasuredCurve::SizeDoubt doubt = bent.size_doubt(Bytes(bytes));
    CHECK(bent.at(Bytes(bytes)).value() * std::exp(-doubt.shorter) >= bent.at(Bytes(1e5)).value() * (1 - 1e-12));
    CHECK(doubt.longer >= doubt.shorter);
  }
}

TEST_CASE("an Allreduce that was not measured takes as long as a Reduce-scatter and an Allgather") {
  const MeasuredExchanges measured({curve_of(Collective::allgather, 16, 4, [](double m) { return ring(m, 16) / 2; })});
  for (const double bytes : {1024.0, 1e6, 1e9}) {
    CHECK(time_of(measured, Collective::allreduce, bytes, 16, 4) ==
          Approx(2 * time_of(measured, Collective::allgather, bytes, 16, 4)));
    CHECK(time_of(measured, Collective::reduce_scatter, bytes, 16, 4) ==
          Approx(time_of(measured, Collective::allgather, bytes, 16, 4)));
  }
  const auto prediction = measured.predict(Collective::allreduce, Bytes(1e6), 16, 4);
  REQUIRE(prediction);
  CHECK(prediction->measured == Collective::allgather);
  CHECK(prediction->low < prediction->time);
}

TEST_CASE("measurements end where start-ups decide, and where counts disagree") {
  // The largest message of 4 KiB still takes the start-up alone.
  MeasuredCurve small{.operation = Collective::allgather, .ranks = 16, .nodes = 4};
  small.points = {{Bytes(1024), Seconds(300e-6)}, {Bytes(4096), Seconds(301e-6)}};
  const MeasuredExchanges ends({small});
  CHECK(ends.last_size(Collective::allgather, 16, 4) == Bytes(4096));
  CHECK(ends.may_be_continued(Collective::allgather, 16, 4));
  const auto whole = [](int ranks, double factor) {
    return curve_of(Collective::allreduce, ranks, ranks / 4, [=](double m) { return factor * ring(m, ranks); });
  };
  const MeasuredExchanges agree({whole(16, 1), whole(32, 1)}), jump({whole(16, 1), whole(32, 1.8)});
  CHECK_FALSE(agree.last_size(Collective::allreduce, 32, 8).has_value());
  CHECK_FALSE(agree.last_count(Collective::allreduce, Bytes(1e9), 64, 16).has_value());
  REQUIRE(jump.last_count(Collective::allreduce, Bytes(1e9), 64, 16).has_value());
  CHECK(jump.last_count(Collective::allreduce, Bytes(1e9), 64, 16)->nodes == 8);
  CHECK_FALSE(jump.last_count(Collective::allreduce, Bytes(1e9), 32, 8).has_value());
}

TEST_CASE("an Allreduce takes at most as long as a Reduce-scatter and an Allgather, of which at most two were measured") {
  // The counts of nodes of four ranks at which an Allreduce, and an Allgather, were measured. The Allgathers are slower or
  // faster than those of a ring with the same links.
  struct Measured {
    std::vector<int> reduced, gathered;
  };
  const std::vector<Measured> all{{{2}, {8}}, {{8}, {2}}, {{2, 16}, {4}}, {{4}, {}}, {{2, 32}, {}}, {{16}, {2, 32}}};
  for (const Measured& counts : all) {
    for (const double slower : {0.3, 1.0, 3.0, 20.0}) {
      std::vector<MeasuredCurve> curves;
      for (const int nodes : counts.reduced)
        curves.push_back(curve_of(Collective::allreduce, 4 * nodes, nodes, [&](double m) { return ring(m, 4 * nodes); }));
      for (const int nodes : counts.gathered) {
        curves.push_back(
            curve_of(Collective::allgather, 4 * nodes, nodes, [&](double m) { return slower * ring(m, 4 * nodes) / 2; }));
      }
      Machine machine = nodes_of_four();
      machine.levels.back().units = 64;
      for (LinkLevel& level : machine.levels) {
        level.latency = Seconds(alpha);
        level.bandwidth = Bandwidth(100 / beta);  // no measurement exceeds the datasheet
      }
      Coefficients coefficients;
      coefficients.exchanges = MeasuredExchanges(std::move(curves));
      const Assumptions assumptions;
      for (const int nodes : {2, 4, 8, 16, 32}) {
        Plan plan;
        plan.mesh.set(Axis::data, 4 * nodes);
        const ExchangeTimes times(plan, machine, coefficients, assumptions);
        const auto time = [&](Collective operation, double bytes) {
          return times.time(operation, Bytes(bytes), family_bit(Axis::data), Purpose::gradient).value();
        };
        const auto is_measured = [&](const std::vector<int>& list) {
          return std::find(list.begin(), list.end(), nodes) != list.end();
        };
        // Measured times of both operations are used as they are.
        if (is_measured(counts.reduced) && is_measured(counts.gathered)) continue;
        for (const double bytes : {1.0, 1e3, 1e5, 1e6, 1e7, 1e8, 1e9}) {
          CAPTURE(nodes, bytes, slower);
          const double whole = time(Collective::allreduce, bytes);
          const double gather = time(Collective::allgather, bytes), scatter = time(Collective::reduce_scatter, bytes);
          CHECK(whole <= (gather + scatter) * (1 + 1e-9));
          // Start-ups of rings and trees differ, so the other bound holds for the bytes.
          CHECK(std::max(gather - time(Collective::allgather, 1), scatter - time(Collective::reduce_scatter, 1)) <=
                whole * (1 + 1e-9));
        }
      }
    }
  }
}
