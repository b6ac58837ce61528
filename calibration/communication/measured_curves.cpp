#include "calibration/communication/measured_curves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/communication/joined_curves.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"

namespace ddl {
namespace {

/// To five digits: more were never measured, and the file is to be read by people.
double rounded(double value) {
  const double digits = std::strtod(fmt::format("{:.4e}", value).c_str(), nullptr);
  return std::isfinite(digits) && digits > 0 ? digits : value;
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// What one curve is of.
struct CurveKey {
  Collective operation = Collective::allreduce;
  double window = 1;
  bool both_ways = false;
  int ranks = 2, nodes = 1;
  friend auto operator<=>(const CurveKey&, const CurveKey&) = default;
};

/// What the series is of, or what is missing to know.
std::string find_key(const ExchangeSeries& series, CurveKey& key) {
  key.operation = series.operation;
  key.window = series.window;
  key.both_ways = series.pattern == ExchangePattern::both_ways;
  const bool pair = series.operation == Collective::point_to_point;
  if (!series.ranks && !pair) return "how many ranks took part; give ranks=";
  key.ranks = series.ranks.value_or(2);
  if (series.nodes) {
    key.nodes = *series.nodes;
  } else if (!series.level) {
    return "on which level it ran; give nodes= or level=";
  } else if (*series.level == NetworkLevel::node) {
    key.nodes = 1;
  } else if (pair) {
    key.nodes = 2;
  } else {
    return "on how many nodes it ran; give nodes=";
  }
  return "";
}

using Times = std::map<double, std::vector<double>>;  // of each size

Times times_of(const ExchangeSeries& series) {
  Times times;
  for (const MeasuredExchange& row : series.rows) {
    const double bytes = row.message.value(), seconds = row.time.value();
    if (std::isfinite(bytes) && bytes > 0 && std::isfinite(seconds) && seconds > 0) times[bytes].push_back(seconds);
  }
  return times;
}

/// By how much two series differ at common sizes: the median of the longer over the shorter time; 1 without such a size.
double difference(const Times& a, const Times& b) {
  std::vector<double> differences;
  for (const auto& [bytes, seconds] : a) {
    const auto same = b.find(bytes);
    if (same != b.end()) differences.push_back(std::abs(std::log(median(seconds) / median(same->second))));
  }
  return std::exp(median(differences));
}

/// Pooled over sizes, of the logarithms of times that were measured twice or more.
double spread_of(const Times& times) {
  double squares = 0;
  double freedom = 0;
  for (const auto& [bytes, seconds] : times) {
    if (seconds.size() < 2) continue;
    double middle = 0;
    for (const double each : seconds) middle += std::log(each) / static_cast<double>(seconds.size());
    for (const double each : seconds) squares += (std::log(each) - middle) * (std::log(each) - middle);
    freedom += static_cast<double>(seconds.size()) - 1;
  }
  return freedom > 0 ? std::max(1.0, std::exp(std::sqrt(squares / freedom))) : 1;
}

}  // namespace

std::vector<MeasuredCurve> measured_curves(std::span<const ExchangeSeries> series, const std::string& date,
                                           std::vector<std::string>& warnings) {
  std::map<CurveKey, std::vector<const ExchangeSeries*>> by_key;
  for (const ExchangeSeries& one : series) {
    CurveKey key;
    const std::string missing = find_key(one, key);
    if (missing.empty()) {
      by_key[key].push_back(&one);
    } else {
      warnings.push_back(
          fmt::format("{} of {}: not written, since nothing says {}", to_string(one.operation), one.file, missing));
    }
  }
  std::vector<MeasuredCurve> curves;
  for (const auto& [key, measured] : by_key) {
    for (std::size_t i = 1; i < measured.size(); ++i) {
      const double factor = difference(times_of(*measured.front()), times_of(*measured[i]));
      if (factor <= contradiction_factor) continue;
      throw Error(
          fmt::format("{} and {} contradict each other: {} among {} ranks on {} node{} differs by a factor of {:.2f}",
                      measured.front()->file, measured[i]->file, to_string(key.operation), key.ranks, key.nodes,
                      key.nodes == 1 ? "" : "s", factor),
          "give one of them: they were measured with different software or on different networks");
    }
    Times times;
    std::set<std::string> tools, files;
    std::map<double, std::set<std::string>> algorithms;
    for (const ExchangeSeries* one : measured) {
      for (const auto& [bytes, seconds] : times_of(*one)) {
        times[bytes].insert(times[bytes].end(), seconds.begin(), seconds.end());
      }
      for (const MeasuredExchange& row : one->rows) algorithms[row.message.value()].insert(row.algorithm);
      tools.insert(one->tool);
      files.insert(file_name(one->file));
    }
    if (times.empty()) continue;
    MeasuredCurve curve{.operation = key.operation,
                        .ranks = key.ranks,
                        .nodes = key.nodes,
                        .window = key.window,
                        .both_ways = key.both_ways,
                        .spread = rounded(spread_of(times)),
                        .tool = fmt::format("{}", fmt::join(tools, ", ")),
                        .date = date,
                        .source = fmt::format("{}", fmt::join(files, ", "))};
    for (const auto& [bytes, seconds] : times) {
      const std::set<std::string>& ran = algorithms[bytes];
      curve.points.push_back({Bytes(bytes), Seconds(rounded(median(seconds))), ran.size() == 1 ? *ran.begin() : ""});
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace ddl
