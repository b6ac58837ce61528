#include "cli/documents/exchange_fit.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "calibration/network/benchmarks/exchange_facts.hpp"
#include "cli/report/fields.hpp"
#include "core/units.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

/// A fit is reported as poor if its median or maximum relative error exceeds these limits.
constexpr double poor_median = 0.15, poor_worst = 0.5;

std::string counts_text(std::optional<int> low, std::optional<int> high) {
  if (!low || !high) return "-";
  return *low == *high ? with_thousands(*low) : fmt::format("{} to {}", with_thousands(*low), with_thousands(*high));
}

std::string level_text(std::optional<NetworkLevel> level) { return level ? std::string(to_string(*level)) : "-"; }
Json level_to_json(std::optional<NetworkLevel> level) { return level ? Json(to_string(*level)) : Json(nullptr); }

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

/// Prints an end of an interval in the unit that humanize() chooses for `value`, without the unit: 1.34 for 1.34 us.
template <class Quantity>
std::string end_text(Quantity value, Quantity end) {
  const std::string text = humanize(value);
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // Durations from a minute on have two units.
  if (error != std::errc{} || !(number > 0) || text.rfind(' ') != static_cast<std::size_t>(rest - text.data()))
    return humanize(end);
  const double unit = std::pow(1e3, std::round(std::log(value.value() / number) / std::log(1e3)));
  const double figure = end.value() / unit;
  return fmt::format("{:.{}f}", figure, figure >= 99.95 || figure <= 0 ? 0 : figure >= 9.995 ? 1 : figure >= 0.9995 ? 2 : 3);
}

std::string alpha_text(const std::optional<Estimated<Seconds>>& alpha) {
  if (!alpha) return "-";
  return fmt::format("{} ({} to {})", humanize(alpha->value), end_text(alpha->value, alpha->low),
                     end_text(alpha->value, alpha->high));
}

/// Prints β as a bandwidth. A bandwidth is the inverse of β, so the ends of the interval are swapped.
std::string beta_text(const std::optional<Estimated<SecondsPerByte>>& beta) {
  if (!beta || !(beta->value.value() > 0)) return "-";
  const Bandwidth rate(1 / beta->value.value());
  const auto end = [&](SecondsPerByte time) {
    return time.value() > 0 ? end_text(rate, Bandwidth(1 / time.value())) : std::string("any");
  };
  return fmt::format("{} ({} to {})", humanize(rate), end(beta->high), end(beta->low));
}

std::string name_of(const ExchangeFit& fit) {
  const bool knows_ranks = fit.min_ranks && fit.max_ranks;
  return fmt::format("{}{}{}", to_string(fit.operation),
                     knows_ranks ? fmt::format(" of {} ranks", counts_text(fit.min_ranks, fit.max_ranks)) : "",
                     fit.level ? ", " + level_text(fit.level) : "");
}

/// A range of message sizes for which the library used one algorithm and protocol.
struct AlgorithmRange {
  Bytes from{}, to{};
  std::string algorithm{};  ///< empty if no series states the algorithm
};

std::vector<AlgorithmRange> algorithm_ranges(const ExchangeSeries& series) {
  std::vector<const MeasuredExchange*> rows;
  for (const MeasuredExchange& row : series.rows) rows.push_back(&row);
  std::ranges::stable_sort(rows,
                           [](const MeasuredExchange* a, const MeasuredExchange* b) { return a->message < b->message; });
  std::vector<AlgorithmRange> ranges;
  for (const MeasuredExchange* row : rows) {
    if (ranges.empty() || ranges.back().algorithm != row->algorithm) {
      ranges.push_back({row->message, row->message, row->algorithm});
    }
    ranges.back().to = row->message;
  }
  std::erase_if(ranges, [](const AlgorithmRange& range) { return range.algorithm.empty(); });
  return ranges;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <class Unit>
Json value_of(const std::optional<Estimated<Unit>>& estimated) {
  return estimated ? number(estimated->value.value()) : Json(nullptr);
}
template <class Unit>
Json interval_of(const std::optional<Estimated<Unit>>& estimated) {
  return estimated ? Json::array({number(estimated->low.value()), number(estimated->high.value())}) : Json(nullptr);
}

}  // namespace

Table series_table(std::span<const ExchangeSeries> series) {
  // Names of files are shown without folders, unless two files then have one name.
  std::map<std::string, std::set<std::string>> paths;
  for (const ExchangeSeries& each : series) paths[std::string(last_step(each.file))].insert(each.file);
  const auto short_name = [&](const std::string& path) {
    const std::string name(last_step(path));
    return paths[name].size() > 1 ? path : name;
  };
  // A long path is cut, so that the facts of a file remain.
  Table table({essential(words("file")), essential(words("operation")), essential(words("level")),
               essential(figures("ranks")), essential(figures("nodes")), figures("rows"), figures("smallest"),
               figures("largest"), words("device")});
  for (const ExchangeSeries& each : series) {
    const auto [least, most] = std::ranges::minmax_element(
        each.rows, [](const MeasuredExchange& a, const MeasuredExchange& b) { return a.message < b.message; });
    table.add({short_name(each.file), std::string(to_string(each.operation)), level_text(each.level),
               counts_text(each.ranks, each.ranks), counts_text(each.nodes, each.nodes), std::to_string(each.rows.size()),
               humanize(least->message), humanize(most->message), each.device.empty() ? "-" : each.device});
  }
  return table;
}

Table pair_contention_table(std::span<const PairContention> pairs) {
  Table table({essential(words("file")), essential(figures("pairs at once")), figures("message"), figures("together"),
               figures("time per byte"), words("level")});
  for (const PairContention& each : pairs) {
    table.add({each.file, with_thousands(each.pairs), humanize(each.message), humanize(each.together),
               each.slowdown ? fmt::format("{:.3f}", *each.slowdown) : "-", level_text(each.level)});
  }
  table.legend = "time per byte: relative to one pair alone";
  return table;
}

std::string congestion_text(const GpcnetCongestion& congestion) {
  return fmt::format(
      "{}: other traffic{} makes messages take {:.3f} times as long in the median, and {:.3f} at the 99th "
      "percentile (GPCNeT)",
      congestion.file, congestion.nodes > 0 ? fmt::format(" among {} nodes", congestion.nodes) : "", congestion.median,
      congestion.median * std::pow(congestion.spread, 2.326));
}

Json pair_contention_to_json(std::span<const PairContention> pairs) {
  return json_list(pairs, [](const PairContention& each) -> Json {
    return {{"file", each.file},
            {"pairs", each.pairs},
            {"bytes", each.message.value()},
            {"together_bytes_per_s", each.together.value()},
            {"slowdown", or_null(each.slowdown)},
            {"level", level_to_json(each.level)}};
  });
}

Json series_to_json(std::span<const ExchangeSeries> series) {
  return json_list(series, [](const ExchangeSeries& each) -> Json {
    return {{"file", each.file},
            {"tool", each.tool},
            {"operation", to_string(each.operation)},
            {"level", level_to_json(each.level)},
            {"ranks", or_null(each.ranks)},
            {"nodes", or_null(each.nodes)},
            {"device", or_null(each.device)},
            {"rows", each.rows.size()},
            {"algorithms", json_list(algorithm_ranges(each), [](const AlgorithmRange& range) -> Json {
               return {{"min_bytes", range.from.value()}, {"max_bytes", range.to.value()}, {"algorithm", range.algorithm}};
             })}};
  });
}

Table algorithm_table(std::span<const ExchangeSeries> series) {
  Table table(
      {words("operation"), figures("ranks"), figures("nodes"), figures("from"), figures("to"), words("library used")});
  for (const ExchangeSeries& each : series) {
    for (const AlgorithmRange& range : algorithm_ranges(each)) {
      table.add({std::string(to_string(each.operation)), counts_text(each.ranks, each.ranks),
                 counts_text(each.nodes, each.nodes), humanize(range.from), humanize(range.to), range.algorithm});
    }
  }
  return table;
}

Table exchange_fit_table(std::span<const ExchangeFit> fits) {
  Table table({essential(words("operation")), essential(words("level")), essential(figures("ranks")), figures("from"),
               essential(figures("to")), essential(figures("alpha")), essential(figures("1/beta")), words("algorithm"),
               figures("r2"), figures("residual"), figures("worst"), figures("points")});
  for (const ExchangeFit& fit : fits) {
    for (const FitRange& range : fit.ranges) {
      table.add({std::string(to_string(fit.operation)), level_text(fit.level), counts_text(fit.min_ranks, fit.max_ranks),
                 humanize(range.min_message), humanize(range.max_message), alpha_text(range.alpha), beta_text(range.beta),
                 std::string(to_string(range.algorithm)), fmt::format("{:.4f}", range.r2), percent(range.median_residual),
                 percent(range.worst_residual), std::to_string(range.points)});
    }
  }
  return table;
}

Json exchange_fits_to_json(std::span<const ExchangeFit> fits) {
  Json list = Json::array();
  for (const ExchangeFit& fit : fits) {
    for (const FitRange& range : fit.ranges) {
      list.push_back({{"operation", to_string(fit.operation)},
                      {"level", level_to_json(fit.level)},
                      {"ranks", fit.min_ranks == fit.max_ranks ? or_null(fit.max_ranks) : Json(nullptr)},
                      {"min_ranks", or_null(fit.min_ranks)},
                      {"max_ranks", or_null(fit.max_ranks)},
                      {"min_nodes", or_null(fit.min_nodes)},
                      {"max_nodes", or_null(fit.max_nodes)},
                      {"min_bytes", number(range.min_message.value())},
                      {"max_bytes", number(range.max_message.value())},
                      {"alpha_s", value_of(range.alpha)},
                      {"alpha_interval_s", interval_of(range.alpha)},
                      {"beta_s_per_byte", value_of(range.beta)},
                      {"beta_interval_s_per_byte", interval_of(range.beta)},
                      {"algorithm", to_string(range.algorithm)},
                      {"r2", number(range.r2)},
                      {"median_residual", number(range.median_residual)},
                      {"worst_residual", number(range.worst_residual)},
                      {"points", range.points}});
    }
  }
  return list;
}

std::vector<std::string> exchange_fit_warnings(std::span<const ExchangeFit> fits) {
  std::vector<std::string> warnings;
  for (const ExchangeFit& fit : fits) {
    if (!fit.refusal.empty()) {
      warnings.push_back(fmt::format("{}: no fit: {}{}{}", name_of(fit), fit.refusal,
                                     fit.what_to_measure.empty() ? "" : "; ", fit.what_to_measure));
    }
    for (const FitRange& range : fit.ranges) {
      if (range.median_residual <= poor_median && range.worst_residual <= poor_worst) continue;
      warnings.push_back(fmt::format("{}: poor fit from {} to {}: median error {}, maximum error {}", name_of(fit),
                                     humanize(range.min_message), humanize(range.max_message),
                                     percent(range.median_residual), percent(range.worst_residual)));
    }
    for (const std::string& note : fit.notes) warnings.push_back(fmt::format("{}: {}", name_of(fit), note));
  }
  return warnings;
}

}  // namespace ddl
