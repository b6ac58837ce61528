#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/network/benchmarks/open_mpi_rules.hpp"
#include "calibration/network/fits/fit.hpp"
#include "measured_series.hpp"
#include "tests/catch.hpp"

namespace known_link_tests {

// The data are benchmarks of a link with known parameters: 1 ms and 100 Mbit/s, which is 80.6 ns
// for a byte of payload with frames of 9,000 bytes (tests/data/README.md).

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

/// Interprets a series by the rules of Open MPI 4.1, which ran the benchmarks.
FitRange by_rules(ExchangeSeries series) {
  series.library = "openmpi-4.1";
  const ExchangeFit fit = fit_of(series);
  REQUIRE(fit.ranges.size() == 1);
  CHECK(fit.ranges[0].algorithm == ExchangeAlgorithm::open_mpi_41);
  REQUIRE(fit.ranges[0].beta);
  return fit.ranges[0];
}

/// Returns β of the fit's last range relative to the link's β.
double error_of_beta(const FitRange& range) { return range.beta->value.value() / link_beta - 1; }

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

TEST_CASE("a library's ring takes the time of the library's messages of one slice") {
  // Messages of 64 to 256 KiB are slower than the link: 8.5 of 12.4 MB/s. Rings with slices of such
  // sizes are slower, too, so their time per byte is not the link's.
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

TEST_CASE("collectives that are fitted by their library's rules give α and β of the link") {
  const auto files = known_link();
  // Interpreted as a ring, this Allreduce has 1.8 times the link's β, and the Reduce-scatter has 1.6 times the link's β.
  const FitRange allreduce = by_rules(files.at("omb74_ompi_4r_osu_allreduce"));
  CHECK(std::abs(error_of_beta(allreduce)) < 0.05);
  CHECK(allreduce.alpha->value.value() == Approx(1e-3).epsilon(0.5));
  CHECK(error_of_beta(fit_of(files.at("omb74_ompi_4r_osu_allreduce")).ranges.back()) > 0.7);
  for (const char* file : {"omb74_ompi_4r_osu_reduce_scatter", "omb74_ompi_4r_osu_alltoall"}) {
    INFO(file);
    CHECK(std::abs(error_of_beta(by_rules(files.at(file)))) < 0.15);
    CHECK(error_of_beta(by_rules(files.at(file))) < error_of_beta(fit_of(files.at(file)).ranges.back()));
  }
}

TEST_CASE("rules of a library apply to two and four ranks") {
  const auto bytes_sent = [](Collective operation, double ranks, double bytes) {
    double sent = 0;
    const auto messages = open_mpi_messages(operation, ranks, bytes);
    REQUIRE(messages);
    for (const RankMessages& each : *messages) sent += each.count * each.bytes;
    return sent;
  };
  for (const double ranks : {2.0, 4.0}) {
    // No algorithm sends less than the bound, and large messages use algorithms that send no more.
    const double part = (ranks - 1) / ranks * 1048576;
    CHECK(bytes_sent(Collective::allreduce, ranks, 1048576) == Approx(2 * part));
    CHECK(bytes_sent(Collective::allgather, ranks, 1048576) == Approx(part));
    CHECK(bytes_sent(Collective::reduce_scatter, ranks, 1048576) == Approx(part));
    CHECK(bytes_sent(Collective::all_to_all, ranks, 1048576) == Approx(part));
  }
  CHECK(bytes_sent(Collective::allreduce, 4, 1024) == 2048);
  CHECK(bytes_sent(Collective::allreduce, 2, 1024) == 1024);
  CHECK_FALSE(open_mpi_messages(Collective::allreduce, 3, 1024));
  CHECK_FALSE(open_mpi_messages(Collective::allreduce, 8, 1024));
  CHECK_FALSE(open_mpi_messages(Collective::broadcast, 4, 1024));
  // For other numbers of ranks, the rules do not apply to a file.
  ExchangeSeries eight = known_link().at("omb74_ompi_4r_osu_allreduce");
  eight.library = "openmpi-4.1";
  eight.ranks = eight.nodes = 8;
  CHECK(fit_of(eight).ranges.back().algorithm == ExchangeAlgorithm::ring);
}

TEST_CASE("prints the figures of the documentation about a library's rules", "[.figures]") {
  for (const auto& [name, series] : known_link()) {
    if (!open_mpi_messages(series.operation, 4, 1) || name.find("alg") != std::string::npos ||
        name.find("ring") != std::string::npos) {
      continue;
    }
    for (const FitRange& range : {fit_of(series).ranges.back(), by_rules(series)}) {
      fmt::print("{} | {} | {:.2f} ms | {:.1f} ns/B | {:+.0f} %\n", name, to_string(range.algorithm),
                 range.alpha->value.value() * 1e3, range.beta->value.value() * 1e9, 100 * error_of_beta(range));
    }
  }
}

}  // namespace known_link_tests
