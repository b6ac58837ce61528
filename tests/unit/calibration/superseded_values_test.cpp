#include "calibration/network/fits/superseded_values.hpp"

#include <string>
#include <vector>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/network/fits/exchange_prediction.hpp"
#include "calibration/network/fits/network_section.hpp"
#include "tests/catch.hpp"

namespace superseded_values_tests {

using namespace ddl;

namespace {

/// The largest two messages of published sweeps on ABCI, nccl-tests, four V100 a node: github.com/aistabci/abci2.0benchmark,
/// allreduce/inter_vnode.
std::vector<MeasuredCurve> sweeps_of_abci() {
  const auto sweep = [](int nodes, double half, double whole) {
    MeasuredCurve curve{.operation = Collective::allreduce, .ranks = 4 * nodes, .nodes = nodes};
    curve.source = "abci2.0benchmark";
    curve.points = {{Bytes(16 << 20), Seconds(half), {}}, {Bytes(32 << 20), Seconds(whole), {}}};
    return curve;
  };
  return {sweep(2, 1511.2e-6, 2970.9e-6), sweep(4, 1633.2e-6, 3156.6e-6)};
}

Coefficients with(const std::string& text, const std::vector<MeasuredCurve>& curves) {
  return parse_coefficients(with_network_section(text, curves), "c.yaml");
}

}  // namespace

TEST_CASE("a measured network replaces route, algorithms and factors of other runs") {
  const std::string bundled = coefficients_text("abci", "abci");
  const std::vector<MeasuredCurve> curves = sweeps_of_abci();
  std::vector<std::string> warnings;
  const std::string text = without_superseded_values(bundled, {}, curves, curves, warnings);
  REQUIRE(warnings.size() == 1);
  for (const std::string part : {"gradient_route host", "gradient_algorithm ring", "the fitted factors on α and β of"})
    CHECK(warnings[0].find(part) != std::string::npos);
  const Coefficients coefficients = with(text, curves);
  CHECK(coefficients.software.gradient_route == Route::direct);
  CHECK_FALSE(coefficients.software.gradient_algorithm);
  // What the sweep does not show stays: halos, hybrids, and factors on kernels.
  CHECK(coefficients.software.halo_route == Route::host);
  CHECK(coefficients.software.hybrid_gradient_algorithm);
  const Learned data = learned_of(coefficients.learned, family_bit(Axis::data));
  CHECK(data[Coefficient::gradient_beta] == 1);
  CHECK(data[Coefficient::kernels] == Approx(0.9273));
  // 32 MiB among 8 ranks took 2.97 ms.
  const PredictedExchange one =
      ExchangePredictor(load_machine("abci"), coefficients).predict(Collective::allreduce, 32_MiB, 8, 2);
  CHECK(one.time.value() == Approx(2970.9e-6));
  CHECK(one.basis == ExchangeBasis::measured);
  CHECK(one.warning.empty());
}

TEST_CASE("a network that was measured before keeps what was fitted to it") {
  const std::string bundled = coefficients_text("abci", "abci");
  const std::vector<MeasuredCurve> curves = sweeps_of_abci();
  std::vector<std::string> warnings;
  CHECK(without_superseded_values(bundled, curves, curves, curves, warnings) == bundled);
  // Messages between two ranks do not show how collectives run.
  MeasuredCurve pair = curves[0];
  pair.operation = Collective::point_to_point;
  pair.ranks = 2;
  const std::vector<MeasuredCurve> pairs{pair};
  CHECK(without_superseded_values(bundled, {}, pairs, pairs, warnings) == bundled);
  CHECK(warnings.empty());
  // Earlier collectives that were dropped belonged to another network.
  MeasuredCurve other = curves[1];
  other.nodes = 8;
  other.ranks = 32;
  const std::vector<MeasuredCurve> before{other};
  CHECK_FALSE(without_superseded_values(bundled, before, curves, curves, warnings) == bundled);
}

TEST_CASE("a time that is not the measured one is not called so") {
  const std::string bundled = coefficients_text("abci", "abci");
  const std::vector<MeasuredCurve> curves = sweeps_of_abci();
  const ExchangePredictor prescribed(load_machine("abci"), with(bundled, curves));
  const PredictedExchange ring = prescribed.predict(Collective::allreduce, 32_MiB, 8, 2);
  CHECK(ring.basis == ExchangeBasis::fitted_links);
  CHECK(ring.warning.find("measured times are not used, because the software of the coefficients reduces gradients by the "
                          "algorithm ring, through the host") != std::string::npos);
  Coefficients factors = with(bundled, curves);
  factors.software = {};
  const PredictedExchange scaled =
      ExchangePredictor(load_machine("abci"), factors).predict(Collective::allreduce, 32_MiB, 8, 2);
  CHECK(scaled.basis == ExchangeBasis::scaled);
}

}  // namespace superseded_values_tests
