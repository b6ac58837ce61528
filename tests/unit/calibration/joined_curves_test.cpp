#include "calibration/network/fits/joined_curves.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace joined_curves_tests {

using namespace ddl;

namespace {

/// Returns the curve of an exchange of four ranks per node, with start-up `alpha` and `rate` bytes per second.
MeasuredCurve curve_of(Collective operation, int nodes, double alpha, double rate, std::string source) {
  MeasuredCurve curve{.operation = operation, .ranks = 4 * nodes, .nodes = nodes};
  curve.source = std::move(source);
  for (double bytes = 1024; bytes <= (1 << 30); bytes *= 2) {
    curve.points.push_back({Bytes(bytes), Seconds(alpha + bytes / rate), {}});
  }
  return curve;
}

std::vector<MeasuredCurve> fast_network() {
  return {curve_of(Collective::allreduce, 1, 8e-6, 200e9, "node.txt"),
          curve_of(Collective::allreduce, 2, 20e-6, 40e9, "fast-2.txt"),
          curve_of(Collective::allreduce, 64, 60e-6, 38e9, "fast-64.txt"),
          curve_of(Collective::allgather, 64, 60e-6, 38e9, "fast-gather.txt")};
}

}  // namespace

TEST_CASE("new measurements replace earlier ones") {
  std::vector<std::string> warnings;
  const MeasuredCurve again = curve_of(Collective::allreduce, 2, 22e-6, 36e9, "again.txt");
  const std::vector<MeasuredCurve> joined = joined_curves(fast_network(), {again}, warnings);
  REQUIRE(joined.size() == 4);
  CHECK(joined[1].source == "fast-64.txt");
  CHECK(joined.back() == again);
  CHECK(warnings.empty());
}

TEST_CASE("measurements of another network are dropped") {
  // One curve takes four times as long for large messages only, and the other for small messages only.
  for (const MeasuredCurve& slow : {curve_of(Collective::allreduce, 2, 20e-6, 10e9, "slow.txt"),
                                    curve_of(Collective::allreduce, 2, 80e-6, 40e9, "slow.txt")}) {
    std::vector<std::string> warnings;
    const std::vector<MeasuredCurve> joined = joined_curves(fast_network(), {slow}, warnings);
    // Measurements inside a node do not apply to the network, and stay.
    REQUIRE(joined.size() == 2);
    CHECK(joined[0].source == "node.txt");
    CHECK(joined[1] == slow);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("2 earlier measurements between nodes dropped") != std::string::npos);
    CHECK(warnings[0].find("fast-64.txt; fast-gather.txt") != std::string::npos);
  }
}

TEST_CASE("a new node count is compared with the prediction from earlier node counts") {
  std::vector<std::string> warnings;
  const MeasuredCurve slow = curve_of(Collective::allreduce, 8, 100e-6, 8e9, "slow.txt");
  CHECK(joined_curves(fast_network(), {slow}, warnings).size() == 2);
  CHECK(warnings.size() == 1);
  warnings.clear();
  const MeasuredCurve like = curve_of(Collective::allreduce, 8, 35e-6, 39e9, "like.txt");
  CHECK(joined_curves(fast_network(), {like}, warnings).size() == 5);
  CHECK(warnings.empty());
}

TEST_CASE("an operation without earlier measurements contradicts none") {
  std::vector<std::string> warnings;
  const MeasuredCurve other = curve_of(Collective::all_to_all, 8, 900e-6, 1e9, "other.txt");
  CHECK(joined_curves(fast_network(), {other}, warnings).size() == 5);
  CHECK(warnings.empty());
}

}  // namespace joined_curves_tests
