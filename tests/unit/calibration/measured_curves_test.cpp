#include "calibration/network/fits/measured_curves.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace measured_curves_tests {

using namespace ddl;

namespace {

ExchangeSeries series_of(std::string file, double factor, int ranks = 8, int nodes = 2) {
  ExchangeSeries series{.ranks = ranks, .nodes = nodes, .tool = "a tool 1", .file = "/some/where/" + std::move(file)};
  for (const double bytes : {1024.0, 2048.0, 4096.0}) {
    series.rows.push_back({Bytes(bytes), Seconds(factor * bytes * 1e-9)});
  }
  return series;
}

}  // namespace

TEST_CASE("repeated measurements become their median, and their differences the spread") {
  std::vector<std::string> warnings;
  const std::vector<ExchangeSeries> series{series_of("a.txt", 1), series_of("b.txt", 1.21), series_of("c.txt", 1.1)};
  const std::vector<MeasuredCurve> curves = measured_curves(series, "2026-01-02", warnings);
  REQUIRE(curves.size() == 1);
  const MeasuredCurve& curve = curves.front();
  REQUIRE(curve.points.size() == 3);
  CHECK(curve.points[0].time.value() == Approx(1.1 * 1024e-9));
  // The measurements 1, 1.1 and 1.21 differ by factors of 1.1. The standard deviation of −1, 0 and 1 is 1.
  CHECK(curve.spread == Approx(1.1).epsilon(1e-4));
  CHECK(curve.source == "a.txt, b.txt, c.txt");
  CHECK(curve.tool == "a tool 1");
  CHECK(curve.date == "2026-01-02");
  CHECK(warnings.empty());
}

TEST_CASE("files that contradict each other are named") {
  std::vector<std::string> warnings;
  const std::vector<ExchangeSeries> series{series_of("a.txt", 1), series_of("b.txt", 1.6)};
  const std::string error = error_of([&] { (void)measured_curves(series, "", warnings); });
  CHECK(error.find("a.txt and /some/where/b.txt contradict each other") != std::string::npos);
  CHECK(error.find("factor of 1.60") != std::string::npos);
  // Curves of different counts do not contradict each other.
  CHECK(measured_curves(std::vector{series_of("a.txt", 1), series_of("b.txt", 1.6, 16, 4)}, "", warnings).size() == 2);
}

TEST_CASE("a link of half the rate is a contradiction, although small messages take equally long") {
  const auto link = [](std::string file, double rate) {
    ExchangeSeries series{.operation = Collective::point_to_point, .ranks = 2, .nodes = 2, .file = std::move(file)};
    for (int power = 2; power <= 22; ++power) {
      series.rows.push_back({Bytes(std::exp2(power)), Seconds(5e-6 + std::exp2(power) / rate)});
    }
    return series;
  };
  std::vector<std::string> warnings;
  const std::vector<ExchangeSeries> series{link("fast.txt", 25e9), link("slow.txt", 12e9), link("again.txt", 24e9)};
  const std::string error = error_of([&] { (void)measured_curves(series, "", warnings); });
  CHECK(error.find("slow.txt and again.txt, fast.txt contradict each other") != std::string::npos);
  CHECK(error.find("--prefer slow.txt") != std::string::npos);
  SECTION("of two contradicting files, one is preferred") {
    std::vector<ExchangeSeries> chosen = series;
    leave_out_contradicting(chosen, "fast.txt", warnings);
    REQUIRE(chosen.size() == 2);
    CHECK(chosen[0].file == "fast.txt");
    CHECK(chosen[1].file == "again.txt");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("slow.txt: ignored") == 0);
    CHECK(measured_curves(chosen, "", warnings).size() == 1);
  }
  SECTION("different times on a busy network are no contradiction if other times lie between them") {
    // At the largest size, the slowest run takes 1.7 times as long as the fastest run.
    const std::vector<ExchangeSeries> busy{link("1", 25e9), link("2", 20e9), link("3", 17e9), link("4", 14.5e9)};
    const std::vector<MeasuredCurve> curves = measured_curves(busy, "", warnings);
    REQUIRE(curves.size() == 1);
    CHECK(curves[0].spread > 1.05);
  }
  SECTION("disturbed times of single sizes are no contradiction") {
    ExchangeSeries disturbed = link("disturbed.txt", 25e9);
    for (const std::size_t i : {3U, 10U, 20U}) disturbed.rows[i].time *= 10;
    CHECK(measured_curves(std::vector{link("fast.txt", 25e9), disturbed}, "", warnings).size() == 1);
  }
}

TEST_CASE("series without ranks or nodes are left out with a warning") {
  std::vector<std::string> warnings;
  ExchangeSeries nowhere = series_of("a.txt", 1), alone = series_of("b.txt", 1), pair = series_of("c.txt", 1);
  nowhere.nodes.reset();
  alone.ranks.reset();
  pair.operation = Collective::point_to_point;
  pair.ranks.reset();
  pair.nodes.reset();
  pair.level = NetworkLevel::between_nodes;
  const std::vector<MeasuredCurve> curves = measured_curves(std::vector{nowhere, alone, pair}, "", warnings);
  REQUIRE(curves.size() == 1);
  CHECK(curves[0].ranks == 2);
  CHECK(curves[0].nodes == 2);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].find("add nodes= or level=") != std::string::npos);
  CHECK(warnings[1].find("add ranks=") != std::string::npos);
}

}  // namespace measured_curves_tests
