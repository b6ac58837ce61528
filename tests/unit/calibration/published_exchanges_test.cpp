// Tests published measurements of clusters, which are read as they were printed.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/network/benchmarks/benchmark_formats.hpp"
#include "calibration/network/fits/fit.hpp"
#include "calibration/network/fits/measured_curves.hpp"
#include "core/statistics.hpp"
#include "core/units.hpp"
#include "measured_series.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace published_exchanges_tests {

using namespace ddl;

namespace {

struct Published {
  std::string name, source, refused, text;
  ExchangeFacts facts;
};

ExchangeFacts facts_of(const std::string& line) {
  ExchangeFacts facts;
  std::istringstream words(line);
  for (std::string word; std::getline(words, word, ',');) {
    const std::string key = word.substr(0, word.find('='));
    const std::string value = word.substr(word.find('=') + 1);
    if (key == "operation") facts.operation = parse_operation(value);
    if (key == "ranks") facts.ranks = std::stoi(value);
    if (key == "nodes") facts.nodes = std::stoi(value);
  }
  return facts;
}

/// Returns the outputs of tests/data/comm/clusters.txt, which explains its format.
std::vector<Published> published() {
  std::ifstream file(DATA_FOLDER "comm/clusters.txt");
  REQUIRE(file);
  std::vector<Published> found;
  const std::string mark = "@@ ";
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(mark)) {
      if (inside) found.back().text += line + "\n";
      continue;
    }
    const std::string said = line.substr(mark.size());
    const auto after = [&](const std::string& key) { return said.substr(std::min(said.size(), key.size() + 1)); };
    inside = said == "text";
    if (inside) continue;
    if (said.starts_with("source ")) {
      found.back().source = after("source");
    } else if (said.starts_with("facts")) {
      found.back().facts = facts_of(after("facts"));
    } else if (said.starts_with("refused ")) {
      found.back().refused = after("refused");
    } else {
      found.emplace_back().name = said;
    }
  }
  return found;
}

std::vector<ExchangeSeries> read(const Published& one) {
  std::vector<std::string> warnings;
  return parse_exchanges(one.text, one.name, {one.facts, {}}, warnings);
}

/// Returns the series of files whose names contain all of `parts`, keyed by the number of nodes.
std::map<int, ExchangeSeries> series_of(const std::vector<std::string>& parts) {
  std::map<int, ExchangeSeries> found;
  for (const Published& one : published()) {
    const bool wanted = std::all_of(parts.begin(), parts.end(),
                                    [&](const std::string& part) { return one.name.find(part) != std::string::npos; });
    if (!wanted) continue;
    for (ExchangeSeries& each : read(one)) found[each.nodes.value()] = std::move(each);
  }
  return found;
}

/// Returns the median error of one cluster's times from the size `least` on. `fit`: a fit to other clusters.
double median_error(const ExchangeFit& fit, const ExchangeSeries& asked, Bytes least) {
  std::vector<double> errors;
  for (const MeasuredExchange& row : asked.rows) {
    if (row.message < least) continue;
    const ExchangePrediction prediction = predict(fit, asked.ranks.value(), asked.nodes.value(), row.message);
    errors.push_back(std::abs(prediction.time.value / row.time - 1));
  }
  REQUIRE_FALSE(errors.empty());
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

}  // namespace

TEST_CASE("of 109 published outputs 100 are read, and the others refused with the reason") {
  int accepted = 0, refused = 0;
  for (const Published& one : published()) {
    INFO(one.name);
    CHECK_FALSE(one.source.empty());
    const std::string error = error_of([&] {
      const std::vector<ExchangeSeries> series = read(one);
      REQUIRE_FALSE(series.empty());
      for (const ExchangeSeries& each : series) {
        CHECK_FALSE(each.rows.empty());
        // If the publication contains a fact, the parsed fact must be equal.
        if (one.facts.operation) CHECK(each.operation == *one.facts.operation);
        if (one.facts.ranks) CHECK(each.ranks == *one.facts.ranks);
        if (one.facts.nodes) CHECK(each.nodes == *one.facts.nodes);
      }
    });
    if (!one.refused.empty()) CHECK(error.find(one.refused) != std::string::npos);
    CHECK((error == "no error") == one.refused.empty());
    ++(error == "no error" ? accepted : refused);
  }
  CHECK(accepted == 100);
  CHECK(refused == 9);
}

TEST_CASE("published outputs are fitted, or refused with the missing facts") {
  for (const Published& one : published()) {
    if (!one.refused.empty()) continue;
    INFO(one.name);
    for (const ExchangeFit& fit : fit_exchanges(read(one))) {
      if (!fit.refusal.empty()) {
        CHECK_FALSE(fit.what_to_measure.empty());
        continue;
      }
      for (const FitRange& range : fit.ranges) {
        CHECK(std::isfinite(range.median_residual));
        if (range.alpha) CHECK((std::isfinite(range.alpha->value.value()) && range.alpha->value > Seconds(0)));
        if (range.beta) CHECK((std::isfinite(range.beta->value.value()) && range.beta->value > SecondsPerByte(0)));
      }
    }
  }
}

namespace {

/// Errors of times from 1 MiB to 1 GiB, and whether the interval covers each measured time.
struct LeftOut {
  std::vector<double> errors{};
  int held = 0;
  [[nodiscard]] double median_error() const { return median(errors); }
  [[nodiscard]] double share_held() const { return held / static_cast<double>(errors.size()); }
};

/// Predicts each number of nodes above one from all other numbers. `inside` and `beyond`: results
/// inside and beyond the measured range.
void leave_out(const std::map<int, ExchangeSeries>& by_nodes, LeftOut& inside, LeftOut& beyond) {
  std::vector<ExchangeSeries> all;
  for (const auto& [nodes, series] : by_nodes) {
    if (nodes > 1) all.push_back(series);
  }
  std::vector<std::string> warnings;
  const std::vector<MeasuredCurve> curves = measured_curves(all, "", warnings);
  for (std::size_t out = 1; out < curves.size(); ++out) {
    std::vector<MeasuredCurve> others = curves;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(out));
    const MeasuredExchanges measured(std::move(others));
    const MeasuredCurve& asked = curves[out];
    LeftOut& into = out + 1 < curves.size() ? inside : beyond;
    for (const MeasuredCurve::Point& point : asked.points) {
      if (point.message < Bytes(1e6) || point.message > 1_GiB) continue;
      const auto prediction = measured.predict(asked.operation, point.message, asked.ranks, asked.nodes);
      REQUIRE(prediction);
      into.errors.push_back(std::abs(prediction->time / point.time - 1));
      into.held += prediction->low <= point.time && point.time <= prediction->high ? 1 : 0;
    }
  }
}

}  // namespace

TEST_CASE("left-out node counts of published sweeps are predicted, and intervals cover them") {
  LeftOut inside, beyond;
  for (const char* plugin : {"ofi192", "ofi1130"}) leave_out(series_of({"alps_gh200_allreduce", plugin}), inside, beyond);
  for (const char* environment : {"nccl218_aws_ofi.", "nccl218_aws_ofi_alltoall_env", "nccl218_tcp", "nccl221_aws_ofi.",
                                  "nccl221_aws_ofi_alltoall_env"}) {
    for (const char* operation : {"all_reduce", "all_gather", "alltoall"}) {
      leave_out(series_of({fmt::format("polaris_{}", operation), environment}), inside, beyond);
    }
  }
  INFO(fmt::format("inside {:.3f} of {}, held {:.3f}; beyond {:.3f} of {}, held {:.3f}", inside.median_error(),
                   inside.errors.size(), inside.share_held(), beyond.median_error(), beyond.errors.size(),
                   beyond.share_held()));
  CHECK(inside.errors.size() >= 100);
  CHECK(inside.median_error() < 0.08);
  CHECK(inside.share_held() > 0.85);
  CHECK(beyond.median_error() < 0.2);
  CHECK(beyond.share_held() > 0.85);
}

TEST_CASE("left-out node counts of published sweeps, one by one", "[.figures]") {
  const auto show = [](const std::string& of, const std::map<int, ExchangeSeries>& by_nodes) {
    LeftOut inside, beyond;
    leave_out(by_nodes, inside, beyond);
    if (beyond.errors.empty()) return;
    const std::vector<int> nodes = [&] {
      std::vector<int> counts;
      for (const auto& [count, series] : by_nodes) {
        if (count > 1) counts.push_back(count);
      }
      return counts;
    }();
    fmt::print("| {} | {} | {} | {:.0f} % |\n", of, fmt::join(nodes, ", "),
               inside.errors.empty() ? "" : fmt::format("{:.0f} %", inside.median_error() * 100),
               beyond.median_error() * 100);
  };
  for (const char* plugin : {"ofi192", "ofi1130"}) {
    show(fmt::format("Alps, allreduce, {}", plugin), series_of({"alps_gh200_allreduce", plugin}));
  }
  for (const char* environment : {"nccl218_aws_ofi.", "nccl218_aws_ofi_alltoall_env", "nccl218_tcp", "nccl221_aws_ofi.",
                                  "nccl221_aws_ofi_alltoall_env"}) {
    for (const char* operation : {"all_reduce", "all_gather", "alltoall"}) {
      show(fmt::format("Polaris, {}, {}", operation, environment),
           series_of({fmt::format("polaris_{}", operation), environment}));
    }
  }
}

TEST_CASE("half of the sizes of published NVLink nodes predict the other half, and intervals cover it") {
  for (const std::string machine : {"dgx-a100", "dgx-h100", "dgx-h200"}) {
    const std::optional<Coefficients> bundled = bundled_coefficients(machine);
    REQUIRE(bundled);
    std::map<Collective, std::vector<double>> errors;
    std::vector<double> all;
    int held = 0, asked = 0;
    for (const MeasuredCurve& whole : bundled->exchanges.curves()) {
      if (whole.nodes != 1 || whole.points.size() < 4) continue;
      MeasuredCurve half = whole;
      half.points.clear();
      for (std::size_t i = 0; i < whole.points.size(); i += 2) half.points.push_back(whole.points[i]);
      const MeasuredExchanges known({half});
      for (std::size_t i = 1; i < whole.points.size(); i += 2) {
        const MeasuredCurve::Point& point = whole.points[i];
        const auto said = known.predict(whole.operation, point.message, whole.ranks, 1);
        REQUIRE(said);
        const double error = std::abs(said->time / point.time - 1);
        errors[whole.operation].push_back(error);
        // An All-to-all changes its protocol twice between sizes a factor of 4 apart.
        if (whole.operation != Collective::all_to_all) all.push_back(error);
        ++asked;
        if (said->low <= point.time && point.time <= said->high) ++held;
      }
    }
    REQUIRE(errors.size() >= 3);
    for (auto& [operation, of_one] : errors) {
      INFO(machine << ": " << to_string(operation) << ", " << of_one.size() << " times");
      CHECK(median(of_one) < 0.05);
    }
    INFO(machine);
    std::sort(all.begin(), all.end());
    CHECK(all[all.size() * 9 / 10] < 0.15);
    CHECK(held > 0.85 * asked);
  }
}

TEST_CASE("Alps measured on up to 32 nodes predicts 64 and 128") {
  const std::map<int, ExchangeSeries> alps = series_of({"alps_gh200_allreduce", "ofi192"});
  std::vector<ExchangeSeries> known;
  for (const auto& [nodes, series] : alps) {
    if (nodes <= 32) known.push_back(series);
  }
  std::vector<std::string> warnings;
  const MeasuredExchanges measured(measured_curves(known, "", warnings));
  for (const int nodes : {64, 128}) {
    std::vector<double> errors;
    for (const MeasuredCurve& curve : measured_curves(std::vector{alps.at(nodes)}, "", warnings)) {
      for (const MeasuredCurve::Point& point : curve.points) {
        if (point.message < 1_MiB || point.message > 1_GiB) continue;
        const auto prediction = measured.predict(curve.operation, point.message, curve.ranks, curve.nodes);
        REQUIRE(prediction);
        CHECK(prediction->beyond_counts);
        errors.push_back(std::abs(prediction->time / point.time - 1));
      }
    }
    INFO(nodes << " nodes");
    CHECK(median(errors) < 0.1);
  }
}

TEST_CASE("prints the figures of the documentation about published outputs", "[.figures]") {
  const auto show = [](const std::string& of, const ExchangeFit& fit) {
    for (const FitRange& range : fit.ranges) {
      fmt::print("{} | {} to {} | {} | {} | {} | {} | {:.1f} %\n", of, humanize(range.min_message),
                 humanize(range.max_message), range.alpha ? humanize(range.alpha->value) : "-",
                 range.beta ? fmt::format("{:.1f} ({:.1f} to {:.1f}) ns/B", range.beta->value.value() * 1e9,
                                          range.beta->low.value() * 1e9, range.beta->high.value() * 1e9)
                            : "-",
                 range.beta ? fmt::format("{:.4g} MB/s", 1e-6 / range.beta->value.value()) : "-", to_string(range.algorithm),
                 range.median_residual * 100);
    }
  };
  for (const auto& [name, series] : measured_series::known_link(DATA_FOLDER "comm/known-link.csv")) {
    show(name, fit_exchanges(std::vector{series}).front());
  }
  const std::map<int, ExchangeSeries> alps = series_of({"alps_gh200_allreduce", "ofi192"});
  for (const auto& [most, asked] : {std::pair(32, 64), std::pair(64, 128), std::pair(128, 256)}) {
    std::vector<ExchangeSeries> known;
    for (const auto& [nodes, one] : alps) {
      if (nodes > 1 && nodes <= most) known.push_back(one);
    }
    const ExchangeFit fit = fit_exchanges(known).front();
    show(fmt::format("Alps, up to {}", most), fit);
    fmt::print("{} nodes off by {:.1f} %; {}\n", asked, median_error(fit, alps.at(asked), 1_MiB) * 100,
               fmt::join(predict(fit, 4 * asked, asked, 1_MiB).warnings, "; "));
  }
  for (const char* environment : {"nccl218_aws_ofi.", "nccl218_aws_ofi_alltoall_env", "nccl218_tcp", "nccl221_aws_ofi.",
                                  "nccl221_aws_ofi_alltoall_env"}) {
    for (const char* operation : {"all_reduce", "all_gather", "alltoall"}) {
      const std::map<int, ExchangeSeries> found = series_of({fmt::format("polaris_{}", operation), environment});
      std::vector<ExchangeSeries> known;
      std::string nodes;
      for (const auto& [count, one] : found) {
        known.push_back(one);
        nodes += fmt::format(" {}", count);
      }
      for (const ExchangeFit& fit : fit_exchanges(known)) {
        show(fmt::format("Polaris {} {}{} ({} files)", operation, environment, nodes, fit.series.size()), fit);
      }
    }
  }
}

}  // namespace published_exchanges_tests
