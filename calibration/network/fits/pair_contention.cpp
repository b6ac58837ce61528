#include "calibration/network/fits/pair_contention.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/fits/contention_section.hpp"

namespace ddl {
namespace {

const MeasuredExchange* largest_row(const ExchangeSeries& series) {
  const auto found = std::max_element(series.rows.begin(), series.rows.end(),
                                      [](const auto& a, const auto& b) { return a.message < b.message; });
  return found == series.rows.end() ? nullptr : &*found;
}

/// The time of one pair for messages of this size.
std::optional<Seconds> time_alone(const std::vector<ExchangeSeries>& series, const ExchangeSeries& several, Bytes message) {
  for (const ExchangeSeries& each : series) {
    if (each.operation != Collective::point_to_point || each.pairs != 1 || each.pattern != several.pattern ||
        each.window != several.window || each.level != several.level) {
      continue;
    }
    for (const MeasuredExchange& row : each.rows) {
      if (row.message == message) return row.time;
    }
  }
  return std::nullopt;
}

std::string with_pair_contention(const std::string& file, std::span<const MeasuredContention> before,
                                 const std::vector<PairContention>& measured, const Machine& machine,
                                 std::vector<std::string>& warnings) {
  std::vector<ContentionPoint> points;
  std::string source;
  for (const PairContention& one : measured) {
    const bool between = one.level == NetworkLevel::between_nodes;
    if (!between || !one.slowdown || machine.levels.size() < 2) {
      warnings.push_back(fmt::format("{}: the contention of {} pairs is not written: {}", one.file, one.pairs,
                                     !one.slowdown ? "use the output with one pair, too"
                                     : !one.level  ? "add nodes="
                                                   : "only contention between nodes is used"));
      continue;
    }
    points.push_back({.groups = one.pairs, .slowdown = *one.slowdown});
    source += fmt::format("{}{}", source.empty() ? "" : ", ", std::filesystem::path(one.file).filename().string());
  }
  if (points.empty()) return file;
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.groups < b.groups; });
  const std::vector<MeasuredContention> written = measured_contention(points, machine, "several pairs at once: " + source);
  return with_contention_section(file, before, written);
}

}  // namespace

std::vector<PairContention> take_pair_contention(std::vector<ExchangeSeries>& series, std::vector<std::string>& warnings) {
  std::vector<PairContention> found;
  for (const ExchangeSeries& each : series) {
    if (each.pairs > 1 && each.window == 1)
      warnings.push_back(fmt::format("{}: latencies of {} pairs at once are not used", each.file, each.pairs));
    const MeasuredExchange* const row = each.pairs > 1 && each.window > 1 ? largest_row(each) : nullptr;
    if (row == nullptr) continue;
    PairContention one{.pairs = each.pairs, .message = row->message, .level = each.level, .file = each.file};
    one.together = row->message * static_cast<double>(each.pairs) / row->time;
    if (const auto alone = time_alone(series, each, row->message)) one.slowdown = row->time / *alone;
    found.push_back(std::move(one));
  }
  std::erase_if(series, [](const ExchangeSeries& each) { return each.pairs > 1; });
  return found;
}

std::string with_concurrent_traffic(const std::string& file, const Coefficients& before,
                                    const std::vector<PairContention>& measured,
                                    const std::optional<GpcnetCongestion>& congestion, const Machine& machine,
                                    std::vector<std::string>& warnings) {
  std::string text = with_pair_contention(file, before.contention, measured, machine, warnings);
  if (!congestion) return text;
  if (machine.levels.size() < 2) {
    warnings.push_back(fmt::format("the congestion is not written: {} has no network between nodes", machine.name));
    return text;
  }
  return with_congestion_section(text, before.congestion,
                                 {.level = machine.levels[1].name,
                                  .median = congestion->median,
                                  .spread = congestion->spread,
                                  .source = "GPCNeT: " + std::filesystem::path(congestion->file).filename().string()});
}

}  // namespace ddl
