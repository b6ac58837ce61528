// Fuzzes the output of a communication benchmark. Times are above zero, and facts do not contradict
// each other. Fitted values are finite, and are parsed back from a coefficients file.

#include <cmath>

#include "calibration/network/benchmarks/benchmark_formats.hpp"
#include "calibration/network/benchmarks/gpcnet_text.hpp"
#include "calibration/network/fits/fit.hpp"
#include "calibration/network/fits/measured_curves.hpp"
#include "calibration/network/fits/network_section.hpp"
#include "calibration/network/fits/pair_contention.hpp"
#include "core/yaml_node.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

namespace ddl {
namespace {

/// The number of rows that are fitted instantly.
constexpr std::size_t few_rows = 24;

bool are_few(const std::vector<ExchangeSeries>& series) {
  std::size_t rows = 0;
  for (const ExchangeSeries& each : series) rows += each.rows.size();
  return rows <= few_rows;
}

void fit(const std::vector<ExchangeSeries>& series) {
  const std::vector<ExchangeFit> fits = fit_exchanges(series);
  for (const ExchangeFit& each : fits) {
    if (!each.refusal.empty()) continue;
    require(!each.ranges.empty(), "a fit without ranges");
    for (const FitRange& range : each.ranges) {
      require(std::isfinite(range.noise) && range.noise >= 0, "a noise that is none");
      require(std::isfinite(range.r2), "an r² that is none");
      require(std::isfinite(range.median_residual) && std::isfinite(range.worst_residual), "a residual that is none");
      const ExchangePrediction known =
          predict(each, each.min_ranks.value_or(2), each.min_nodes.value_or(1), range.max_message);
      require(std::isfinite(known.time.value.value()) && known.time.value.value() >= 0, "a predicted time that is none");
    }
  }
  std::vector<std::string> warnings;
  const auto curves = result_of([&] { return measured_curves(series, "2026-01-02", warnings); });
  if (!curves) return;
  const std::vector<MeasuredCurve>& network = *curves;
  const YamlNode written = YamlNode::parse(print_measured_network(network), "written.yaml");
  require(read_measured_network(written.at("communication")) == network, "measured times are read back as others");
}

void check_pairs(std::vector<ExchangeSeries> series) {
  std::vector<std::string> warnings;
  for (const PairContention& each : take_pair_contention(series, warnings)) {
    require(each.pairs > 1, "pairs that are none");
    require(std::isfinite(each.together.value()) && each.together.value() >= 0, "a bandwidth that is none");
    require(!each.slowdown || (std::isfinite(*each.slowdown) && *each.slowdown > 0), "a slowdown that is none");
  }
}

/// `text`: output of GPCNeT, whose reader takes a path.
void read_congestion(const std::string& text) {
  if (text.find("NetworkLoad Tests v") == std::string::npos) return;
  const FileOfText file(text, ".txt");
  const auto congestion = result_of([&] { return load_gpcnet_congestion(file.path()); });
  if (!congestion || !*congestion) return;
  require(std::isfinite((*congestion)->median) && (*congestion)->median >= 1, "a congestion that is none");
  require(std::isfinite((*congestion)->spread) && (*congestion)->spread >= 1, "a spread that is none");
  require((*congestion)->nodes >= 0, "a negative number of nodes");
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const ddl::ExchangeFacts& otherwise :
       {ddl::ExchangeFacts{}, ddl::ExchangeFacts{.operation = ddl::Collective::allreduce, .ranks = 8, .nodes = 2}}) {
    std::vector<std::string> warnings;
    const auto series = ddl::result_of([&] {
      return ddl::parse_exchanges(ddl::text_of(data, size), "any.txt", {{}, otherwise}, warnings);
    });
    if (!series) continue;
    for (const ddl::ExchangeSeries& each : *series) {
      ddl::require(!each.rows.empty(), "a series without rows");
      ddl::require(!each.ranks || *each.ranks > 1, "a single rank");
      ddl::require(!each.ranks || !each.nodes || *each.nodes <= *each.ranks, "more nodes than ranks");
      for (const ddl::MeasuredExchange& row : each.rows) {
        ddl::require(std::isfinite(row.time.value()) && row.time.value() > 0, "a time that is none");
        ddl::require(std::isfinite(row.message.value()) && row.message.value() >= 0, "a size that is none");
      }
    }
    ddl::check_pairs(*series);
    if (ddl::are_few(*series)) ddl::fit(*series);
  }
  ddl::read_congestion(ddl::text_of(data, size));
  return 0;
}
