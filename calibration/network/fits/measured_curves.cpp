#include "calibration/network/fits/measured_curves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/network/benchmarks/repetitions.hpp"
#include "calibration/network/fits/joined_curves.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"

namespace ddl {
namespace {

/// Rounds to five digits. Measurements are not more precise, and the file should be readable.
double rounded(double value) {
  const double digits = std::strtod(fmt::format("{:.4e}", value).c_str(), nullptr);
  return std::isfinite(digits) && digits > 0 ? digits : value;
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// The facts that identify a curve.
struct CurveKey {
  Collective operation = Collective::allreduce;
  double window = 1;
  bool both_ways = false;
  int ranks = 2, nodes = 1;
  friend auto operator<=>(const CurveKey&, const CurveKey&) = default;
};

/// Sets `key` to the facts that identify the curve of a series. If a fact is missing, returns what
/// the user should give; otherwise returns an empty text.
std::string find_key(const ExchangeSeries& series, CurveKey& key) {
  key.operation = series.operation;
  key.window = series.window;
  key.both_ways = series.pattern == ExchangePattern::both_ways;
  const bool pair = series.operation == Collective::point_to_point;
  if (!series.ranks && !pair) return "the number of ranks; add ranks=";
  key.ranks = series.ranks.value_or(2);
  if (series.nodes) {
    key.nodes = *series.nodes;
  } else if (!series.level) {
    return "the level; add nodes= or level=";
  } else if (*series.level == NetworkLevel::node) {
    key.nodes = 1;
  } else if (pair) {
    key.nodes = 2;
  } else {
    return "the number of nodes; add nodes=";
  }
  return "";
}

using Times = std::map<double, std::vector<double>>;  // times for each size

Times times_of(const ExchangeSeries& series) {
  Times times;
  for (const MeasuredExchange& row : series.rows) {
    const double bytes = row.message.value(), seconds = row.time.value();
    if (std::isfinite(bytes) && bytes > 0 && std::isfinite(seconds) && seconds > 0) times[bytes].push_back(seconds);
  }
  return times;
}

/// Groups of runs. Runs of one group are repetitions of each other; runs of different groups contradict each other. Two runs
/// belong to one group if they differ by at most contradiction_factor, or if a chain of other runs connects them. Runs
/// without a common size do not contradict each other.
std::vector<std::vector<const ExchangeSeries*>> alike(const std::vector<const ExchangeSeries*>& runs) {
  std::vector<std::vector<const ExchangeSeries*>> sets;
  for (const ExchangeSeries* run : runs) {
    std::vector<const ExchangeSeries*> joined;
    std::vector<std::vector<const ExchangeSeries*>> apart;
    for (std::vector<const ExchangeSeries*>& set : sets) {
      const bool near = std::any_of(set.begin(), set.end(), [&](const ExchangeSeries* other) {
        return difference(*run, *other).value_or(1) <= contradiction_factor;
      });
      if (near) {
        joined.insert(joined.end(), set.begin(), set.end());
      } else {
        apart.push_back(std::move(set));
      }
    }
    joined.push_back(run);
    apart.push_back(std::move(joined));
    sets = std::move(apart);
  }
  return sets;
}

std::string files_of(const std::vector<const ExchangeSeries*>& runs) {
  std::set<std::string> files;
  for (const ExchangeSeries* run : runs) files.insert(run->file);
  return fmt::format("{}", fmt::join(files, ", "));
}

/// The spread of repetitions, pooled over all sizes that were measured at least twice, from the logarithms of the times.
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

void leave_out_contradicting(std::vector<ExchangeSeries>& series, const std::string& preferred,
                             std::vector<std::string>& warnings) {
  const auto is_preferred = [&](const ExchangeSeries* one) { return one->file == preferred; };
  std::map<CurveKey, std::vector<const ExchangeSeries*>> by_key;
  for (const ExchangeSeries& one : series) {
    CurveKey key;
    if (find_key(one, key).empty()) by_key[key].push_back(&one);
  }
  std::set<const ExchangeSeries*> left_out;
  for (const auto& [key, runs] : by_key) {
    if (std::none_of(runs.begin(), runs.end(), is_preferred)) continue;
    for (const auto& set : alike(runs)) {
      if (std::any_of(set.begin(), set.end(), is_preferred)) continue;
      left_out.insert(set.begin(), set.end());
      warnings.push_back(fmt::format("{}: ignored, since {} among {} ranks contradicts {}", files_of(set),
                                     to_string(key.operation), key.ranks, preferred));
    }
  }
  std::vector<ExchangeSeries> kept;
  for (ExchangeSeries& one : series) {
    if (!left_out.contains(&one)) kept.push_back(std::move(one));
  }
  series = std::move(kept);
}

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
          fmt::format("{} of {}: not written, since the file lacks {}", to_string(one.operation), one.file, missing));
    }
  }
  std::vector<MeasuredCurve> curves;
  for (const auto& [key, measured] : by_key) {
    if (const auto sets = alike(measured); sets.size() > 1) {
      const double factor = difference(*sets[0].front(), *sets[1].front()).value_or(1);
      throw Error(
          fmt::format("{} and {} contradict each other: {} among {} ranks on {} node{} differs by a factor of {:.2f}",
                      files_of(sets[0]), files_of(sets[1]), to_string(key.operation), key.ranks, key.nodes,
                      key.nodes == 1 ? "" : "s", factor),
          fmt::format(
              "the files were measured with different software or on different networks: leave one out, or choose one "
              "with --prefer {}",
              sets[0].front()->file));
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
