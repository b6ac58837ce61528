#include "calibration/communication/fitted_network.hpp"

#include <limits>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace ddl;

namespace {

ExchangeFit fit_between_nodes() {
  FitRange range;
  range.min_message = 1_MiB;
  range.max_message = 1_GiB;
  range.algorithm = ExchangeAlgorithm::hierarchical_ring;
  range.alpha = Estimated<Seconds>{20.0_us, -1.0_us, 30.0_us};
  range.beta = Estimated<SecondsPerByte>{SecondsPerByte(5e-11), SecondsPerByte(4e-11), SecondsPerByte(1e-10)};
  range.r2 = 0.99;
  range.points = 12;
  ExchangeFit fit;
  fit.level = NetworkLevel::between_nodes;
  fit.min_ranks = 8;
  fit.max_ranks = 32;
  fit.min_nodes = 2;
  fit.max_nodes = 8;
  fit.series = {0};
  fit.ranges = {range};
  return fit;
}

const std::vector<ExchangeSeries> series{{.rows = {}, .tool = "a tool 1", .device = "", .file = "f.txt"}};

}  // namespace

TEST_CASE("a fit becomes links of the network, its time per byte a bandwidth") {
  std::vector<std::string> warnings;
  const std::vector<ExchangeFit> fits{fit_between_nodes()};
  const std::vector<MeasuredNetwork> network = fitted_network(fits, series, warnings);
  REQUIRE(network.size() == 1);
  const MeasuredNetwork& link = network[0];
  CHECK(link.shared);  // in a ring of every node's slices all ranks of a node send at once
  CHECK(link.max_ranks == 32);
  CHECK(link.max_nodes == 8);
  CHECK(link.alpha->value == 20.0_us);
  CHECK_FALSE(link.alpha->low);  // an interval that reaches below zero has no lower end
  CHECK(link.alpha->high == 30.0_us);
  CHECK(link.bandwidth->value.value() == Approx(20e9));
  CHECK(link.bandwidth->low->value() == Approx(10e9));
  CHECK(link.bandwidth->high->value() == Approx(25e9));
  CHECK(link.source == "f.txt, by a tool 1");
  CHECK(warnings.empty());
}

TEST_CASE("a time per byte whose inverse is no number is no bandwidth") {
  std::vector<std::string> warnings;
  std::vector<ExchangeFit> fits{fit_between_nodes()};
  fits[0].ranges[0].beta = Estimated<SecondsPerByte>{SecondsPerByte(5e-309), SecondsPerByte(5e-309), SecondsPerByte(1e-10)};
  const std::vector<MeasuredNetwork> network = fitted_network(fits, series, warnings);
  REQUIRE(network.size() == 1);
  CHECK(network[0].alpha);
  CHECK_FALSE(network[0].bandwidth);
}

TEST_CASE("a fit without level or ranks, or that was refused, becomes nothing") {
  std::vector<std::string> warnings;
  std::vector<ExchangeFit> fits(4, fit_between_nodes());
  fits[0].level.reset();
  fits[1].min_ranks.reset();
  fits[2].refusal = "too few rows";
  fits[3].ranges[0].alpha.reset();
  fits[3].ranges[0].beta->value = SecondsPerByte(std::numeric_limits<double>::infinity());
  CHECK(fitted_network(fits, series, warnings).empty());
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].find("nothing says on which level it ran") != std::string::npos);
  CHECK(warnings[1].find("nothing says how many ranks took part") != std::string::npos);
}
