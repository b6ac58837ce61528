#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/communication/fit.hpp"
#include "calibration/communication/robust_fit.hpp"
#include "measured_series.hpp"
#include "tests/catch.hpp"

// What benchmarks show of a link that is known: 1 ms and 100 Mbit/s, which is 80.6 ns for a byte of payload under frames of
// 9,000 bytes (tests/data/README.md).

using namespace ddl;

namespace {

constexpr double link_beta = 80.6e-9;

std::map<std::string, ExchangeSeries> known_link() { return measured_series::known_link(DATA_FOLDER "comm/known-link.csv"); }

ExchangeFit fit_of(const ExchangeSeries& series) {
  const std::vector<ExchangeFit> fits = fit_exchanges(std::vector{series});
  REQUIRE(fits.size() == 1);
  REQUIRE(fits[0].refusal.empty());
  return fits[0];
}

/// Messages that one of four ranks sends, one after the other.
struct Messages {
  double count = 0;
  double bytes = 0;
};

/// How Open MPI 4.1 runs an operation of four ranks: ompi/mca/coll/tuned/coll_tuned_decision_fixed.c. `bytes`: of all parts.
std::vector<Messages> by_open_mpi(Collective operation, double bytes) {
  const double part = bytes / 4;
  switch (operation) {
    case Collective::allreduce:
      if (bytes < 16) return {{6, part}};       // ring
      if (bytes < 8192) return {{2, bytes}};    // recursive doubling
      return {{2, bytes / 2}, {2, bytes / 4}};  // Rabenseifner
    case Collective::allgather:
      return {{1, part}, {1, 2 * part}};  // recursive doubling
    case Collective::all_to_all:
      return {{3, part}};  // to each of the others, at all sizes
    case Collective::reduce_scatter:
      if (bytes < 262144) return {{1, bytes / 2}, {1, part}};  // recursive halving
      return {{3, part}};                                      // ring
    default:
      return {};
  }
}

/// β of the rows as a start of each message, one more of each that asks before it is sent (from 64 KiB on,
/// btl_tcp_eager_limit), and a time of each byte.
double beta_by_rules(const ExchangeSeries& series) {
  const auto count = static_cast<Eigen::Index>(series.rows.size());
  Eigen::MatrixXd terms = Eigen::MatrixXd::Zero(count, 3);
  Eigen::VectorXd times(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const MeasuredExchange& row = series.rows[static_cast<std::size_t>(i)];
    times[i] = row.time.value();
    for (const Messages& each : by_open_mpi(series.operation, row.message.value())) {
      terms(i, 0) += each.count;
      if (each.bytes >= 65536) terms(i, 1) += each.count;
      terms(i, 2) += each.count * each.bytes;
    }
  }
  return weighted_fit(terms, times, Eigen::VectorXi::Zero(count), absolute_fit(terms, times)).coefficients[2];
}

}  // namespace

TEST_CASE("a link of known α and β") {
  const auto files = known_link();
  const ExchangeFit latency = fit_of(files.at("omb74_ompi_2r_osu_latency"));
  CHECK(latency.ranges.front().alpha->value.value() == Approx(1e-3).epsilon(0.1));
  for (const char* file : {"omb53_ompi_2r_osu_latency", "omb74_mpich_2r_osu_latency", "omb74_ompi_2r_osu_bw",
                           "omb74_ompi_2r_osu_latency", "omb74_ompi_2r_osu_latency_eager16M",
                           "omb74_ompi_4r_osu_allgather_ring_eager16M", "omb74_ompi_4r_osu_allreduce_ring_eager16M"}) {
    INFO(file);
    const ExchangeFit fit = fit_of(files.at(file));
    REQUIRE(fit.ranges.back().beta);
    CHECK(fit.ranges.back().beta->value.value() == Approx(link_beta).epsilon(0.05));
  }
}

TEST_CASE("rings of a library take as long as its own messages of their slices") {
  // Messages of 64 to 256 KiB take longer than the wire does: 8.5 of 12.4 MB/s. Rings whose slices are of such sizes do too,
  // and so the time per byte that they show is not the link's.
  const auto files = known_link();
  const ExchangeFit message = fit_of(files.at("omb74_ompi_2r_osu_latency"));
  for (const char* file : {"omb74_ompi_4r_osu_allreduce_alg4ring", "omb74_ompi_4r_osu_allreduce"}) {
    int rows = 0;
    for (const MeasuredExchange& row : files.at(file).rows) {
      const Bytes slice = row.message / 4;
      if (slice < 128_KiB) continue;
      INFO(file << ", " << row.message.value() << " bytes");
      const Seconds by_messages = 6 * predict(message, 2, 2, slice).time.value;
      const Seconds by_the_link = 6 * (1.0_ms + slice * SecondsPerByte(link_beta));
      CHECK(std::abs(by_messages / row.time - 1) < 0.15);
      CHECK(by_the_link / row.time < 0.75);
      ++rows;
    }
    CHECK(rows == 2);
  }
}

TEST_CASE("an Allreduce that is read by its library's own rules shows the link") {
  // Read as a ring, its β is 1.8 times the link's; three numbers explain all of its sizes.
  CHECK(beta_by_rules(known_link().at("omb74_ompi_4r_osu_allreduce")) == Approx(link_beta).epsilon(0.05));
}

TEST_CASE("what the documentation shows of a library's rules", "[.figures]") {
  for (const auto& [name, series] : known_link()) {
    if (by_open_mpi(series.operation, 1).empty() || name.find("alg") != std::string::npos ||
        name.find("ring") != std::string::npos) {
      continue;
    }
    const double beta = beta_by_rules(series);
    fmt::print("{} | {:.1f} ns/B | {:+.0f} %\n", name, beta * 1e9, (beta / link_beta - 1) * 100);
  }
}
