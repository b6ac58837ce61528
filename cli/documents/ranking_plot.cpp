#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/documents/charts.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/options/plan_file.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Maximum number of rows. The table has all plans.
constexpr std::size_t most_whiskers = 12;
/// Plans that take this many times as long as the first row are omitted, because the others would become indistinguishable.
constexpr double longest_whisker = 4;

/// Returns an axis of times with round ticks, from the smallest low end to the largest high end.
ChartAxis axis_of_times(const std::vector<Whisker>& rows) {
  double low = rows.front().low, high = rows.front().high;
  for (const Whisker& each : rows) {
    low = std::min(low, each.low);
    high = std::max(high, each.high);
  }
  const double about = std::pow(10.0, std::floor(std::log10((high - low) / 3)));
  double step = about;
  for (const double digit : {2.0, 5.0, 10.0}) {
    if ((high - low) / step > 4.5) step = digit * about;
  }
  const double from = std::max(0.0, std::floor(low / step) * step);
  ChartAxis axis{"", false, from, std::ceil(high / step) * step};
  for (int i = 0; from + i * step <= axis.to * (1 + 1e-9); ++i)
    axis.ticks.push_back({from + i * step, humanize(Seconds(from + i * step))});
  return axis;
}

}  // namespace

std::optional<Chart> ranking_plot(const std::vector<Estimate>& estimates, const RankedRows& rows) {
  Whiskers whiskers;
  std::vector<std::size_t> drawn(rows.order.size(), most_whiskers);  // for each row of the table, the row of the drawing
  Seconds least{};
  for (const Estimate& each : estimates) {
    const Seconds time = each.time.step_time();
    if (time > Seconds{} && (least <= Seconds{} || time < least)) least = time;
  }
  for (std::size_t row = 0; row < rows.order.size() && whiskers.rows.size() < most_whiskers; ++row) {
    const Estimate& each = estimates[rows.order[row]];
    const Seconds time = each.time.step_time();
    if (time <= Seconds{} || time > least * longest_whisker) continue;
    drawn[row] = whiskers.rows.size();
    Whisker whisker{fmt::format("{}  {}", row + 1, plan_word(each.plan)), humanize(time), time.value()};
    whisker.low = whisker.value * (each.interval ? each.interval->low : 1);
    whisker.high = whisker.value * (each.interval ? each.interval->high : 1);
    whisker.is_chosen = row == rows.recommended;
    whisker.is_faint = each.verdict != estimates.front().verdict;
    whisker.text = fmt::format("{}: {}{}{}", plan_word(each.plan), humanize(time), interval_behind(time, each.interval),
                               whisker.is_faint ? fmt::format(", {}", to_string(each.verdict)) : "");
    if (each.interval) whiskers.interval_name = interval_name();
    whiskers.rows.push_back(std::move(whisker));
  }
  if (whiskers.rows.size() < 2) return std::nullopt;
  for (const TieGroup& group : rows.groups) {
    std::size_t first = most_whiskers, last = 0;
    for (std::size_t row = group.first; row <= group.last; ++row) {
      if (drawn[row] >= most_whiskers) continue;
      first = std::min(first, drawn[row]);
      last = drawn[row];
    }
    if (first < last) whiskers.ties.push_back({first, last});
  }
  whiskers.x = axis_of_times(whiskers.rows);
  whiskers.tie_name = "tied: the difference is smaller than the prediction error";
  whiskers.chosen_name = "recommended";
  return Chart{"Time of a step, by plan", "the time of each plan with its interval", std::move(whiskers)};
}

}  // namespace ddl
