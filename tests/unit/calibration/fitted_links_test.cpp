#include "calibration/network/fits/fitted_links.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/study.hpp"
#include "calibration/network/fits/exchange_prediction.hpp"
#include "estimator/exchanges/lone_exchange.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace fitted_links_tests {

using namespace ddl;

namespace {

/// Returns the measurements of a machine with other links, by the formulas for exchanges.
MeasuredCurve measured_on(const Machine& machine, Collective operation, int ranks, int nodes) {
  const Coefficients none;
  const LoneExchange alone(machine, none, ranks, nodes);
  MeasuredCurve curve{.operation = operation, .ranks = ranks, .nodes = nodes, .source = "formulas"};
  for (int power = 3; power <= 30; ++power) {
    const Bytes bytes(std::exp2(power));
    curve.points.push_back({bytes, alone.predict(operation, bytes).time});
  }
  return curve;
}

Machine slower_than(Machine machine) {
  machine.levels[0].latency = 5.0_us;
  machine.levels[0].bandwidth = machine.levels[0].bandwidth * 0.7;
  machine.levels[1].latency = 30.0_us;
  machine.levels[1].bandwidth = machine.levels[1].bandwidth * 0.5;
  return machine;
}

}  // namespace

TEST_CASE("links fitted under the formulas predict measurements made by these formulas") {
  const Machine sheet = load_machine("dgx-a100");
  const Machine truth = slower_than(sheet);
  for (const Collective operation : {Collective::allreduce, Collective::allgather, Collective::all_to_all}) {
    INFO(to_string(operation));
    const MeasuredExchanges measured({measured_on(truth, operation, 8, 1), measured_on(truth, operation, 32, 4)});
    std::vector<std::string> notes;
    const Machine fitted = with_fitted_links(sheet, measured, notes);
    for (const std::size_t level : {0U, 1U}) {
      INFO("level " << level);
      CHECK(fitted.levels[level].latency.value() == Approx(truth.levels[level].latency.value()).epsilon(0.05));
      CHECK(fitted.levels[level].bandwidth.value() == Approx(truth.levels[level].bandwidth.value()).epsilon(0.03));
    }
    CHECK(fitted.levels[2].latency >= fitted.levels[1].latency);
    CHECK(notes.empty());
  }
}

TEST_CASE("a message between two nodes uses one rail, an Allreduce all rails") {
  Machine sheet = load_machine("dgx-a100");
  sheet.levels[1].library = {};
  MeasuredCurve pair{.operation = Collective::point_to_point, .ranks = 2, .nodes = 2};
  for (int power = 0; power <= 28; ++power) {
    const double bytes = std::exp2(power);
    pair.points.push_back({Bytes(bytes), Seconds(10e-6 + bytes / 20e9)});
  }
  std::vector<std::string> notes;
  const Machine fitted = with_fitted_links(sheet, MeasuredExchanges({pair}), notes);
  CHECK(fitted.levels[1].bandwidth.value() == Approx(20e9).epsilon(0.01));
  CHECK(fitted.levels[1].latency.value() == Approx(10e-6).epsilon(0.01));
  CHECK(fitted.levels[0].bandwidth == sheet.levels[0].bandwidth);
  CHECK(notes.empty());
  Coefficients coefficients;
  coefficients.exchanges = MeasuredExchanges({pair});
  const PredictedExchange exchange = ExchangePredictor(sheet, coefficients).predict(Collective::allreduce, 1_GiB, 16, 2);
  // The eight rails of 20 GB/s reach 160 GB/s, so the time is 2 · 15/16 · 1 GiB / 160 GB/s.
  CHECK(exchange.time.value() == Approx(1.875 * 1073741824 / 160e9).epsilon(0.05));
  CHECK(exchange.basis == ExchangeBasis::fitted_links);
}

TEST_CASE("a collective with one rank per node uses the rails that one rank reaches") {
  Machine sheet = load_machine("dgx-a100");
  sheet.levels[1].library = {};
  // A ring of two nodes takes 2 · (α + m/2 · β) on one rail of 20 GB/s.
  MeasuredCurve one_each{.operation = Collective::allreduce, .ranks = 2, .nodes = 2};
  for (int power = 3; power <= 28; ++power) {
    const double bytes = std::exp2(power);
    one_each.points.push_back({Bytes(bytes), Seconds(20e-6 + bytes / 20e9)});
  }
  std::vector<std::string> notes;
  const Machine fitted = with_fitted_links(sheet, MeasuredExchanges({one_each}), notes);
  CHECK(fitted.levels[1].bandwidth.value() == Approx(20e9).epsilon(0.03));
  CHECK(fitted.levels[1].rails == sheet.levels[1].rails);
  CHECK(notes.empty());
}

TEST_CASE("measurements with one rank per node leave algorithm and rails open, and a warning says what to measure") {
  const Machine machine = load_machine("dgx-a100");
  const MeasuredCurve pair{.operation = Collective::point_to_point, .ranks = 2, .nodes = 2, .points = {{1_MiB, 1.0_ms}}};
  const MeasuredCurve inside{.operation = Collective::allreduce, .ranks = 8, .nodes = 1, .points = {{1_MiB, 1.0_ms}}};
  const MeasuredCurve one_each{.operation = Collective::allreduce, .ranks = 2, .nodes = 2, .points = {{1_MiB, 1.0_ms}}};
  const MeasuredCurve all{.operation = Collective::allreduce, .ranks = 16, .nodes = 2, .points = {{1_MiB, 1.0_ms}}};
  const std::vector<MeasuredContention> alone{{.level = "scalable-unit", .groups = 1, .phi = 1, .source = ""}};
  const std::vector<MeasuredContention> eight{{.level = "scalable-unit", .groups = 8, .phi = 1, .source = ""}};
  const auto assumed = [&](std::vector<MeasuredCurve> curves, const std::vector<MeasuredContention>& contention) {
    return assumed_between_nodes(MeasuredExchanges(std::move(curves)), contention, machine);
  };
  for (const auto& curves : {std::vector{pair}, std::vector{one_each}, std::vector{inside, pair, one_each}}) {
    CHECK(assumed(curves, {}).find("8 rails") != std::string::npos);
    CHECK(assumed(curves, alone).find("contention") != std::string::npos);
    CHECK(assumed(curves, eight).find("rails") == std::string::npos);
    CHECK(assumed(curves, eight).find("allreduce") != std::string::npos);
  }
  CHECK(assumed({pair, all}, {}).empty());
  CHECK(assumed({inside}, {}).empty());
  CHECK(assumed({}, {}).empty());
  // A single exchange reports the warning, too.
  Coefficients coefficients;
  coefficients.exchanges = MeasuredExchanges({pair});
  const ExchangePredictor predictor(machine, coefficients);
  CHECK(predictor.predict(Collective::allreduce, 1_GiB, 16, 2).warning.find("8 rails") != std::string::npos);
  CHECK(predictor.predict(Collective::allreduce, 1_GiB, 8, 1).warning.find("8 rails") == std::string::npos);
}

TEST_CASE(
    "the interval of a datasheet covers measured exchanges, and a published measurement has a wider one than one's own") {
  // The node of eight A100 has no fabric: its sweeps of two to eight GPUs (calibration/coefficients/dgx-a100.yaml) are the
  // truth for a prediction from its datasheet.
  const Machine sheet = load_machine("dgx-a100");
  StudySpec spec;
  spec.machine = "dgx-a100";
  const Coefficients measured = coefficients_of(spec, sheet);
  const ExchangePredictor predictor(sheet, {});
  int held = 0, all = 0;
  for (const int ranks : {2, 4, 8}) {
    for (double bytes = 1024; bytes <= 1073741824; bytes *= 2) {
      const std::optional<Seconds> time = measured.exchanges.time(Collective::allreduce, Bytes(bytes), ranks, 1);
      REQUIRE(time);
      const PredictedExchange predicted = predictor.predict(Collective::allreduce, Bytes(bytes), ranks, 1);
      CHECK(predicted.basis == ExchangeBasis::data_sheet);
      REQUIRE(predicted.low);
      held += *predicted.low <= *time && *time <= *predicted.high ? 1 : 0;
      ++all;
    }
  }
  CHECK(held >= 0.85 * all);
  const auto width = [&](MeasuredOn on) {
    const PredictedExchange one = ExchangePredictor(sheet, measured, on).predict(Collective::allreduce, 1_MiB, 8, 1);
    return *one.high / *one.low;
  };
  CHECK(width(MeasuredOn::published_cluster) > 1.5);
  CHECK(width(MeasuredOn::own_cluster) < 1.5);
}

TEST_CASE("measurements of two nodes predict more nodes only up to the rate of their links") {
  Machine sheet = load_machine("dgx-a100");
  // The curve is that of a tree between two nodes, whose links each byte crosses once.
  MeasuredCurve two{.operation = Collective::allreduce, .ranks = 16, .nodes = 2};
  for (int power = 10; power <= 32; ++power) {
    const double bytes = std::exp2(power);
    two.points.push_back({Bytes(bytes), Seconds(50e-6 + bytes / 180e9)});
  }
  Coefficients coefficients;
  coefficients.exchanges = MeasuredExchanges({two});
  CHECK(coefficients.exchanges.rests_on_two_nodes(Collective::allreduce, 128, 16));
  CHECK_FALSE(coefficients.exchanges.rests_on_two_nodes(Collective::allreduce, 16, 2));
  const ExchangePredictor predictor(sheet, coefficients);
  const double fastest = 8 * sheet.levels[1].bandwidth.value() * 1.1;
  const PredictedExchange more = predictor.predict(Collective::allreduce, 1_GiB, 128, 16);
  CHECK(more.time.value() >= 2 * 127.0 / 128 * 1073741824 / fastest);
  CHECK(*more.high >= more.time);
  CHECK(*more.low <= more.time);
  CHECK(predictor.predict(Collective::allreduce, 1_GiB, 16, 2).time == two.at(1_GiB));
}

TEST_CASE("links faster than their rails count as at most 1.1 times the datasheet, with a note") {
  const Machine sheet = load_machine("dgx-a100");
  Machine faster = sheet;
  faster.levels[1].bandwidth = faster.levels[1].bandwidth * 4;
  const MeasuredExchanges measured({measured_on(faster, Collective::allgather, 32, 4)});
  std::vector<std::string> notes;
  const Machine fitted = with_fitted_links(sheet, measured, notes);
  CHECK(fitted.levels[1].bandwidth.value() == Approx(1.1 * sheet.levels[1].bandwidth.value()).epsilon(0.01));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("allgather among 32 ranks on 4 nodes was faster than the formulas allow with 8 rails") !=
        std::string::npos);
}

TEST_CASE("a single exchange states what its time is based on") {
  const Machine sheet = load_machine("dgx-a100");
  const Machine truth = slower_than(sheet);
  Coefficients coefficients;
  coefficients.exchanges = MeasuredExchanges(
      {measured_on(truth, Collective::allreduce, 16, 2), measured_on(truth, Collective::allreduce, 64, 8)});
  const ExchangePredictor predictor(sheet, coefficients);
  const auto basis = [&](Collective operation, Bytes bytes, int ranks, int nodes) {
    const PredictedExchange one = predictor.predict(operation, bytes, ranks, nodes);
    CHECK(one.low.has_value() == (one.basis != ExchangeBasis::data_sheet || operation != Collective::point_to_point));
    if (one.low) CHECK((*one.low < one.time && one.time < *one.high));
    CHECK(one.warning.empty() == (one.basis != ExchangeBasis::extrapolated && one.basis != ExchangeBasis::fitted_links));
    return one.basis;
  };
  CHECK(basis(Collective::allreduce, 1_MiB, 16, 2) == ExchangeBasis::measured);
  CHECK(basis(Collective::allreduce, 1_MiB, 32, 4) == ExchangeBasis::interpolated);
  CHECK(basis(Collective::allreduce, 1_MiB, 128, 16) == ExchangeBasis::extrapolated);
  CHECK(basis(Collective::allreduce, 8_GiB, 16, 2) == ExchangeBasis::extrapolated);
  CHECK(basis(Collective::all_to_all, 1_MiB, 16, 2) == ExchangeBasis::fitted_links);
  CHECK(basis(Collective::allreduce, 1_MiB, 2, 2) == ExchangeBasis::fitted_links);
  CHECK(basis(Collective::allreduce, 1_MiB, 8, 1) == ExchangeBasis::data_sheet);
  CHECK_FALSE(error_of([&] { (void)predictor.predict(Collective::allreduce, 1_MiB, 9, 2); }) == "no error");
  CHECK_FALSE(error_of([&] { (void)predictor.predict(Collective::allreduce, 1_MiB, 32, 2); }) == "no error");
}

}  // namespace fitted_links_tests
